/** The page of the reference server agrees with the code, and the examples run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { lacks } from '../../support/suite/lacks.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

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
  test.skipIf(lacks(needs) || lacks(command))(`the example ${name} runs`, async () => {
    const { code, output } = await runExample(command, file)
    expect(output).toMatch(prints)
    expect(code).toBe(0)
  })
}
