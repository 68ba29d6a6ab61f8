/** The page of the reference server agrees with the code, and the examples run. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ACTION_KEYS, FAULT_KEYS, MATCH_KEYS } from '../../../src/reference-server/faults/declaration.js'
import { temporaryDirectory } from '../../support/files/temporary.js'

const root = new URL('../../../', import.meta.url).pathname
const page = readFileSync(`${root}docs/reference/reference-server.md`, 'utf8')

const between = (start: string, end: string): string => page.split(start)[1]?.split(end)[0] ?? ''

test('the page names every key and action of a fault', () => {
  const faults = between('## Faults', '## The cap')
  const keys = [...FAULT_KEYS, ...MATCH_KEYS.map((key) => `match.${key}`), ...ACTION_KEYS]
  expect(keys.filter((key) => key !== 'match' && !new RegExp(`[\`{ ]${key}[\`:]`).test(faults))).toEqual([])
})

const has = (command: string): boolean => spawnSync(command, ['--version']).status === 0

/** Runs an example in a directory in which `dist/main.js` is our build. */
const runExample = async (command: string, file: string) => {
  const directory = await temporaryDirectory()
  symlinkSync(`${root}dist`, join(directory, 'dist'))
  const child = spawn(command, [join(root, 'test/examples', file)], { cwd: directory, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  return { code, output }
}

const EXAMPLES = [
  {
    name: 'with curl',
    command: 'bash',
    needs: 'curl',
    file: 'with-curl.sh',
    prints: /"total_count":[1-9][\s\S]*"total_count":[1-9][\s\S]*503\n200\n/,
  },
  {
    name: 'in Python',
    command: 'python3',
    needs: 'python3',
    file: 'client_test.py',
    prints: /^120 surveys in \d+ requests, \d+ of them refused$/m,
  },
]

for (const { name, command, needs, file, prints } of EXAMPLES) {
  const missing = !has(needs) || !has(command)
  test.skipIf(missing)(
    `the example ${name} runs${missing ? ` (skipped: no ${needs} here)` : ''}`,
    async () => {
      const { code, output } = await runExample(command, file)
      expect(output).toMatch(prints)
      expect(code).toBe(0)
    },
  )
}
