/** What an installed command does, in an image or from a package: it serves its own reference server, and syncs from it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { z } from 'zod'
import { projectDirectory } from './dockerfile.js'

/** Copies the current content of the files that git tracks. */
export const copyTracked = (to: string, isWanted: (file: string) => boolean = () => true): void => {
  const tracked = execFileSync('git', ['ls-files', '-z'], {
    ...{ cwd: projectDirectory, encoding: 'utf8', maxBuffer: 10_000_000 },
  })
  for (const file of tracked.split('\0')) {
    if (file === '' || !isWanted(file) || !existsSync(join(projectDirectory, file))) continue
    mkdirSync(join(to, dirname(file)), { recursive: true })
    cpSync(join(projectDirectory, file), join(to, file))
  }
}

const started: ChildProcess[] = []

const serverLine = z.object({
  base_url: z.string(),
  accounts: z.tuple([z.object({ id: z.coerce.string(), token: z.string() })]),
})

/** Starts the reference server, which must serve its OpenAPI document. Returns the environment of a sync from it. */
export const startReferenceServer = async (
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
) => {
  const server = spawn(program, [...args, '--port=0', '--surveys=3', '--rate-limit=10000/60s'], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(server)
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  const { base_url, accounts } = serverLine.parse(JSON.parse(String(line)))
  expect((await fetch(base_url.replace('/api/v1', '/_reference/openapi.json'))).status).toBe(200)
  return {
    FIELDWORK_SYNC_BASE_URL: base_url,
    FIELDWORK_SYNC_API_ID: accounts[0].id,
    FIELDWORK_SYNC_API_TOKEN: accounts[0].token,
  }
}

/** How a sync from that server ends. */
export const SYNCED = {
  status: 0,
  stdout: expect.stringMatching(/\ncomplete: 3 surveys refreshed, nothing left over\.\n$/),
}

export const killStarted = async (): Promise<void> => {
  for (const child of started) {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}
