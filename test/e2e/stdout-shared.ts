/** What both test files of stdout use. */
import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { type Env, MAIN, withEndLine } from '../support/command/command.js'

export const INCOMPLETE = 'fieldwork-sync: the output is not complete, because stdout cannot be written: '

export const startWith = (args: readonly string[], stdio: SpawnOptions['stdio'], env: Env = {}) => {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH, ...env }, stdio })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return {
    child,
    ended: once(child, 'close').then(() => ({ code: child.exitCode, stderr: withEndLine(stderr).stderr })),
  }
}

export const runInto = async (
  file: string,
  flags: string | number,
  args: readonly string[],
  env: Env = {},
) => {
  const stdout = openSync(file, flags)
  try {
    return await startWith(args, ['ignore', stdout, 'pipe'], env).ended
  } finally {
    closeSync(stdout)
  }
}
