/** How the words of a command line become the values of flags. `e2e/usage` shows what wrong ones print. */
import { expect, test } from 'vitest'
import type { Command } from '../../../src/commands/context.js'
import { readCommandLine } from '../../../src/commands/yargs.js'

const COMMAND: Command = {
  name: 'export',
  describe: 'Write files',
  flags: {
    out: { type: 'string', describe: 'A directory' },
    where: { type: 'string', describe: 'A condition' },
    full: { type: 'boolean', describe: 'All of it' },
  },
  run: async () => undefined,
}
const read = (...words: readonly string[]) => readCommandLine(['export', ...words], [COMMAND])

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
])('%j is read as %j', (words, values) => {
  expect(read(...words)).toEqual({ command: COMMAND, flags: values, output: '' })
})

test.each([
  [['--out'], '--out needs a value'],
  [['--out', '--full'], '--out needs a value'],
  [['--out', '-x'], 'export has no flag -x'],
  [['--full=yes'], '--full takes no value: leave out =yes'],
  [['--wheer=secret', 'b'], 'export has no flag --wheer: did you mean --where?'],
  [['--constructor'], 'export has no flag --constructor'],
  [['--'], 'export has no flag --'],
  [['--full', 'a', 'b'], 'Unknown arguments: a, b'],
])('%j is refused', (words, problem) => {
  expect(() => read(...words)).toThrow(new RegExp(`^${problem.replace('?', '\\?')}\\.? See`))
})

test.each([
  [['--out', 'sync', 'export'], 'export', { out: 'sync' }],
  [['--out=sync', 'export'], 'export', { out: 'sync' }],
  [['--full', 'sync'], 'sync', { full: true }],
  [['sync', '--out', 'export'], 'sync', { out: 'export' }],
])('the command in %j is %s, also if a value has the name of a command', (words, name, flags) => {
  const read = readCommandLine(words, [COMMAND, { ...COMMAND, name: 'sync' }])
  expect({ name: read.command?.name, flags: read.flags }).toEqual({ name, flags })
})

test.each([['-h'], ['--help'], ['help']])('%s prints the help of the command', (word) => {
  expect(read(word).output).toMatch(
    /^fieldwork-sync export\n\nWrite files\n\nOptions:\n.* {2}--where {3,}A condition/s,
  )
})
