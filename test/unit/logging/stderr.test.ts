/** Standard error of a real child process. Its exit loses no line, and a reader that goes away causes no failure. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const url = (file: string) => JSON.stringify(new URL(`../../../dist/logging/${file}`, import.meta.url).href)

const script = (end: string) => `
  const { createLog } = await import(${url('log.js')})
  const { createStderr } = await import(${url('stderr.js')})
  if (process.stderr.isTTY) throw new Error('not meant for a terminal')
  const log = createLog({ runId: 'r', level: 'info', pretty: null, stream: createStderr(), redact: (text) => text })
  for (let n = 1; n <= 2000; n += 1) log.info({ n, padding: 'ü'.repeat(200) }, 'line')
  ${end}`

test('a process writes every line before it exits', () => {
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script('process.exit(0)')], {
    encoding: 'utf8',
    maxBuffer: 10_000_000,
  })
  const lines = child.stderr.trimEnd().split('\n')
  expect(lines).toHaveLength(2000)
  expect(lines.map((line) => /"n":(\d+)/.exec(line)?.[1])).toEqual(
    Array.from({ length: 2000 }, (_, n) => `${n + 1}`),
  )
})

test('a reader that stops reading does not stop the process', () => {
  const command = `{ "$NODE" --input-type=module -e "$SCRIPT" 2>&1 >&3 | head -n 1 >/dev/null; } 3>&1`
  const child = spawnSync('sh', ['-c', command], {
    encoding: 'utf8',
    env: { ...process.env, NODE: process.execPath, SCRIPT: script("console.log('went on')") },
  })
  expect(child.stdout).toBe('went on\n')
})
