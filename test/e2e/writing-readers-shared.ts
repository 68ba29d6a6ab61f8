/** What both test files of writing-readers use. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { User } from '../support/process/users.js'

const READER = fileURLToPath(new URL('fixtures/reader.mjs', import.meta.url))

/** Starts a reader. Returns its first line and a function that ends it. */
export const startReader = async (mode: 'hold' | 'write', file: string, user: Partial<User> = {}) => {
  const child = spawn(process.execPath, [READER, mode, file], {
    ...user,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const closed = once(child, 'close')
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const firstLine: { readonly opened?: boolean; readonly surveys?: object; readonly failed?: string } =
    JSON.parse(line)
  return {
    firstLine,
    pid: child.pid,
    end: async () => {
      child.stdin.end()
      await closed
    },
  }
}
