/** How the words of a command line become the values of flags. `e2e/usage` shows what wrong ones print. */
import { expect, test } from 'vitest'
import type { Command } from '../../../src/commands/context.js'
import { readCommandLine } from '../../../src/commands/read-command-line.js'

const COMMAND: Command = {
  name: 'export',
  describe: 'Write files',
  flags: {
    out: { type: 'string', describe: 'A directory', alias: 'output' },
    survey: { type: 'string', describe: 'One of them' },
    where: { type: 'string', describe: 'A condition' },
    full: { type: 'boolean', describe: 'All of it' },
    tables: { type: 'string', describe: 'Some of it', isList: true },
  },
  run: async () => undefined,
}
const read = (...words: readonly string[]) => readCommandLine(['export', ...words], [COMMAND])

test.each([
  [[], {}],
  [['--out', 'a'], { out: 'a' }],
  [['--out=a'], { out: 'a' }],
  [['--output', 'a', '--full'], { out: 'a', full: true }],
  [['--out', 'b', '--output=a'], { out: 'a' }],
  [['--out', ''], { out: '' }],
  [['--out='], { out: '' }],
  [['--where=a=b\nc'], { where: 'a=b\nc' }],
  [['--out', '-5'], { out: '-5' }],
  [['--out', '-'], { out: '-' }],
  [['--out', '-10'], { out: '-10' }],
  [['--out', '-2024-11', '--full'], { full: true, out: '-2024-11' }],
  [['--out', 'a text'], { out: 'a text' }],
  [['--where=--x'], { where: '--x' }],
  [['--out', 'true', '--full'], { out: 'true', full: true }],
  [['--full', 'false'], { full: false }],
  [['--full=false'], { full: false }],
  [['--full', '--out', 'a', '--out', 'b'], { full: true, out: 'b' }],
  [['--full', '--full=false'], { full: false }],
  [['--tables', 'a', '--full', '--tables=b,c', '--tables', 'd'], { full: true, tables: 'a,b,c,d' }],
  [['--tables', 'a', '--tables='], { tables: 'a,' }],
  [['--full', 'true', '--full', '--out', 'help'], { full: true, out: 'help' }],
])('%j is read as %j', (words, values) => {
  expect(read(...words)).toEqual({ command: COMMAND, flags: values, asksFor: null })
})

test.each([
  [['--out'], '--out needs a value'],
  [['--out', '--full'], '--out needs a value'],
  [['--out', '-x'], 'export has no flag -x'],
  [['--full=yes'], '--full takes no value: leave out =yes'],
  [['--wheer=secret', 'b'], 'export has no flag --wheer: did you mean --where?'],
  [['--constructor'], 'export has no flag --constructor'],
  [['--'], 'export has no flag --'],
  [['--', '--full', 'a'], 'export has no flag --'],
  [['-xy', '--ful'], 'export has no flag -xy; export has no flag --ful: did you mean --full?'],
  [['-hx'], 'export has no flag -hx'],
  [['-h=5'], '-h takes no value: leave out =5'],
  [['-x-y', '--full'], 'export has no flag -x-y'],
  [['-5-3', '--ful'], 'export has no flag --ful: did you mean --full?'],
  [['--full', '-5-3', '--tables', 'a'], 'export cannot take the word -5-3'],
  [['--a\nb'], 'export has no flag "--a\\\\nb"'],
  [['--full', 'a\nb', ''], 'export cannot take the words "a\\\\nb" ""'],
  [['--out', '--tables'], '--out needs a value; --tables needs a value'],
  [['--full', 'a', 'b'], 'export cannot take the words a b'],
  [['--full', 'true', 'out'], 'export cannot take the word out: did you mean --out?'],
  [
    ['--where', 'status', '=', 'open', '--full'],
    'export cannot take the words = open: a text with blanks needs quotes, as in --where "…"',
  ],
  [
    ['--where=a', 'b', 'c', 'd', 'e', 'f'],
    'export cannot take the words b c d …: a text with blanks needs quotes, as in --where "…"',
  ],
  [
    ['--tables', 'surveys', 'freshness'],
    'export cannot take the word freshness: several values need commas without blanks, as in --tables a,b',
  ],
  [['4711'], 'export cannot take the word 4711: to name a survey, write --survey 4711'],
  [['--output'], '--out needs a value'],
  [['-o', 'a'], 'export has no flag -o'],
  [['--o', 'a'], 'export has no flag --o'],
  [['--v'], 'export has no flag --v'],
  [['--dry-run'], 'export has no flag --dry-run: fieldwork-sync plan shows what sync would request'],
  [['--verison'], 'export has no flag --verison: did you mean --version?'],
])('%j is refused', (words, problem) => {
  expect(() => read(...words)).toThrow(new RegExp(`^${problem.replace('?', '\\?')}\\.? See`))
})

test.each([['-'], ['-5'], ['-12 - 1'], ['-- the newest\nFROM surveys'], ['SELECT 1 AS "--full"']])(
  'the text %j is an argument',
  (text) => {
    const flags: Command['flags'] = { ...COMMAND.flags, text: { type: 'argument', describe: 'A query' } }
    const { flags: values } = readCommandLine(
      ['query', '--full', text, '--out', 'a'],
      [{ ...COMMAND, name: 'query', flags }],
    )
    expect(values).toEqual({ full: true, text, out: 'a' })
  },
)

test('a long word is read at once, and cut in the message', () => {
  // One flag of each letter took hours.
  expect(() => read(`-${'a'.repeat(100_000)}`)).toThrow(`export has no flag "-${'a'.repeat(38)}…`)
})

test('a word behind an argument needs quotes too', () => {
  const flags: Command['flags'] = { text: { type: 'argument', describe: 'A query' } }
  const words = ['query', 'SELECT', 'id', 'FROM', 'surveys']
  expect(() => readCommandLine(words, [{ ...COMMAND, name: 'query', flags }])).toThrow(
    'query cannot take the words id FROM surveys: a text with blanks needs quotes, as in query "…". See',
  )
})

test.each([
  [['--out', 'sync', 'export'], 'export', { out: 'sync' }],
  [['--out=sync', 'export'], 'export', { out: 'sync' }],
  [['--output', 'sync', 'export'], 'export', { out: 'sync' }],
  [['--full', 'sync'], 'sync', { full: true }],
  [['sync', '--out', 'export'], 'sync', { out: 'export' }],
])('the command in %j is %s, also if a value has the name of a command', (words, name, flags) => {
  const read = readCommandLine(words, [COMMAND, { ...COMMAND, name: 'sync' }])
  expect({ name: read.command?.name, flags: read.flags }).toEqual({ name, flags })
})

test.each([['-v'], ['--version']])('%s asks for the version', (word) => {
  expect(read(word)).toMatchObject({ asksFor: 'version' })
})

test.each([['-h'], ['--help'], ['help']])(
  '%s asks for the help of the command, whatever else is given',
  (word) => {
    expect(read(word, '--full', '--version')).toMatchObject({ command: COMMAND, asksFor: 'help' })
  },
)
