/** How the words of a command line become the values of flags. `e2e/usage` shows what wrong ones print. */
import { expect, test } from 'vitest'
import { type Flags, readFlags } from '../../../src/commands/flags.js'

const FLAGS: Flags = {
  out: { type: 'string', describe: 'A directory' },
  where: { type: 'string', describe: 'A condition' },
  full: { type: 'boolean', describe: 'All of it' },
  help: { type: 'boolean', describe: 'Help' },
}
const read = (...words: readonly string[]) => readFlags(words, 'export', FLAGS)

test.each([
  [[], {}],
  [['--out', 'a'], { out: 'a' }],
  [['--out=a'], { out: 'a' }],
  [['--out', ''], { out: '' }],
  [['--out='], { out: '' }],
  [['--where=a=b\nc'], { where: 'a=b\nc' }],
  [['--out', '-5'], { out: '-5' }],
  [['--out', '-'], { out: '-' }],
  [['--where=--x'], { where: '--x' }],
  [['--out', 'true', '--full'], { out: 'true', full: true }],
  [['--full', 'false'], { full: false }],
  [['--full=false'], { full: false }],
  [['--full', '--out', 'a', '--out', 'b'], { full: true, out: 'b' }],
  [['-h'], { help: true }],
])('%j is read as %j', (words, values) => {
  expect(read(...words)).toEqual(values)
})

test.each([
  [['--out'], '--out needs a value'],
  [['--out', '--full'], '--out needs a value'],
  [['--out', '-x'], '--out needs a value; export has no flag -x'],
  [['--full=yes'], '--full takes no value: leave out =yes'],
  [['--wheer=secret', 'b'], 'export has no flag --wheer: did you mean --where?'],
  [['--constructor'], 'export has no flag --constructor'],
  [['--'], 'export has no flag --'],
  [['--full', 'a', 'b'], 'Unknown arguments: a, b'],
])('%j is refused', (words, problem) => {
  expect(() => read(...words)).toThrow(new RegExp(`^${problem.replace('?', '\\?')}\\.? See`))
})
