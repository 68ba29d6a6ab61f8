/** How the words of a command line become the values of flags, and what is refused. `e2e/usage` shows what a terminal shows. */
import { expect, test } from 'vitest'
import { runYargs } from '../../../src/commands/yargs.js'

const read = async (...words: readonly string[]) => {
  const read: unknown[] = []
  const text = await runYargs(words, {
    columns: 80,
    run: async ({ name }, flags) => void read.push({ name, flags }),
  })
  return read[0] ?? text
}

test.each([
  [[], {}],
  [['--out', 'a'], { out: 'a' }],
  [['--out=a'], { out: 'a' }],
  [['--output', 'a', '--bom'], { out: 'a', bom: true }],
  [['--out', 'b', '--output=a'], { out: 'a' }],
  [['--out', ''], { out: '' }],
  [['--out='], { out: '' }],
  [['--out=a=b\nc'], { out: 'a=b\nc' }],
  [['--out', '-5'], { out: '-5' }],
  [['--out', '-'], { out: '-' }],
  [['--out', '-2024-11', '--bom'], { bom: true, out: '-2024-11' }],
  [['--out', '007'], { out: '007' }],
  [['--out', 'a text'], { out: 'a text' }],
  [['--out=--x'], { out: '--x' }],
  [['--out', 'true', '--bom'], { out: 'true', bom: true }],
  [['--bom', 'false'], { bom: false }],
  [['--bom=false'], { bom: false }],
  [['--bom', '--out', 'a', '--out', 'b'], { bom: true, out: 'b' }],
  [['--bom', '--bom=false'], { bom: false }],
  [['--tables', 'a', '--bom', '--tables=b,c', '--tables', 'd'], { bom: true, tables: 'a,b,c,d' }],
  [['--bom', 'true', '--bom', '--out', 'help'], { bom: true, out: 'help' }],
])('%j is read as %j', async (words, flags) => {
  expect(await read('export', ...words)).toEqual({ name: 'export', flags })
})

test.each([
  ['-', '-'],
  ['needs-action', 'needs-action'],
  ['-- the newest\nFROM surveys', '-- the newest\nFROM surveys'],
  ['--\tnone\n FROM surveys', '--\tnone\n FROM surveys'],
  ['SELECT 1 AS "--full"', 'SELECT 1 AS "--full"'],
  ['sync', 'sync'],
])('the text %j is the query %j', async (word, query) => {
  expect(await read('query', '--sql', word, '--out', 'a')).toEqual({
    name: 'query',
    flags: { sql: true, query, out: 'a' },
  })
})

test('a name that begins with no- is a flag of its own', async () => {
  expect(await read('init', '--no-check')).toEqual({ name: 'init', flags: { 'no-check': true } })
})

test.each([
  [['export', '--out'], '--out needs a value'],
  [['export', '--out', '--bom'], '--out needs a value'],
  [['export', '--out', '-x'], 'export has no flag -x'],
  [['export', '--bom=yes'], '--bom takes no value: leave out =yes'],
  [['export', '--otu=secret', 'b'], 'export has no flag --otu: did you mean --out?'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty'].map((name) => [
    ['export', `--${name}`],
    `export has no flag --${name}`,
  ]),
  [['--constructor'], 'fieldwork-sync has no flag --constructor'],
  [['export', '--'], 'export has no flag --'],
  [['export', '--', '--bom', 'a'], 'export has no flag --'],
  [['export', '-xy', '--bm'], 'export has no flag -xy; export has no flag --bm: did you mean --bom?'],
  [['export', '-bom'], 'export has no flag -bom: did you mean --bom?'],
  [['export', '-hx'], 'export has no flag -hx'],
  [['export', '-h=5'], '-h takes no value: leave out =5'],
  [['export', '--a\nb'], 'export has no flag "--a\\\\nb"'],
  [['export', '--bom', 'a\nb', ''], 'export cannot take the words "a\\\\nb" ""'],
  [['export', '--bom', 'a', 'b'], 'export cannot take the words a b'],
  [['export', '--bom', 'true', 'out'], 'export cannot take the word out: did you mean --out?'],
  [
    ['export', '--out', 'status', '=', 'open', '--bom'],
    'export cannot take the words = open: a text with blanks needs quotes, as in --out "…"',
  ],
  [
    ['export', '--out=a', 'b', 'c', 'd', 'e', 'f'],
    'export cannot take the words b c d …: a text with blanks needs quotes, as in --out "…"',
  ],
  [
    ['export', '--tables', 'surveys', 'freshness'],
    'export cannot take the word freshness: several values need commas without blanks, as in --tables a,b',
  ],
  [['status', '4711'], 'status cannot take the word 4711: to name a survey, write --survey 4711'],
  [['sync', 'acme/4711'], 'sync cannot take the word acme/4711: to name a survey, write --surveys acme/4711'],
  [
    ['query', 'SELECT', 'id', 'FROM', 'surveys'],
    'query cannot take the words id FROM surveys: a text with blanks needs quotes, as in query "…"',
  ],
  [['export', '-o', 'a'], 'export has no flag -o'],
  [['export', '--o', 'a'], 'export has no flag --o'],
  [['export', '--v'], 'export has no flag --v'],
  [['sync', '--dry-run'], 'sync has no flag --dry-run: fieldwork-sync plan shows what sync would request'],
  [['export', '--verison'], 'export has no flag --verison: did you mean --version?'],
  [['export', '--frobnicate', '--help'], 'export has no flag --frobnicate'],
  [['exprot'], 'there is no command exprot: did you mean export?'],
  [[], 'say which command to run'],
] as [string[], string][])('%j is refused', async (words, problem) => {
  await expect(read(...words)).rejects.toThrow(new RegExp(`^${problem.replace('?', '\\?')}\\.? See`))
})

test('a long word is read at once, and cut in the message', async () => {
  // One flag of each letter took hours.
  await expect(read('export', `-${'a'.repeat(100_000)}`)).rejects.toThrow(
    `export has no flag "-${'a'.repeat(38)}…`,
  )
})

test.each([
  [['--out', 'a', 'export'], 'export', { out: 'a' }],
  [['--out=sync', 'export'], 'export', { out: 'sync' }],
  [['--json', 'export'], 'export', { json: true }],
  [['sync', '--config', 'export'], 'sync', { config: 'export' }],
])('flags may stand in front of the command, as in %j', async (words, name, flags) => {
  expect(await read(...words)).toEqual({ name, flags })
})

test.each([['-v'], ['--version']])('%s prints the version', async (word) => {
  expect(await read(word)).toMatch(/^\d+\.\d+\.\d+$/)
  expect(await read('export', word)).toMatch(/^\d+\.\d+\.\d+$/)
})

test.each([['-h'], ['--help'], ['help']])('%s prints the help of the command', async (word) => {
  expect(await read('export', word, '--bom')).toMatch(/^fieldwork-sync export\n\nWrite published tables/)
})
