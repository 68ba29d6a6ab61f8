/**
 * Runs Python with the readers that `install.mjs` installs below `.readers`. The environment variable
 * FIELDWORK_SYNC_TEST_PYTHON names the interpreter; the default is `python3`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lacks } from '../../support/suite/lacks.js'

const PYTHON = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The names of the environments, in the order of environments.json. */
export const ENVIRONMENTS: readonly string[] = Object.keys(
  JSON.parse(readFileSync(`${root}test/integration/readers/environments.json`, 'utf8')),
)

export const environmentDirectory = (environment: string): string => `${root}.readers/${environment}`

/** For `skipIf`: whether an environment, or what it needs, is not there. */
export const lacksEnvironment = (environment: string): boolean =>
  lacks(`the readers ${environment}`, existsSync(`${environmentDirectory(environment)}/environment.json`)) ||
  (environment === 'spark' && lacks('java'))

/** Runs a script with its input as JSON on stdin. Returns the JSON of its last line, or rejects with its stderr when it fails. */
export const runPython = async (environment: string, script: string, input: unknown): Promise<unknown> => {
  const child = spawn(PYTHON, [script], {
    env: { ...process.env, PYTHONPATH: environmentDirectory(environment), TZ: 'America/St_Johns' },
    stdio: 'pipe',
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.end(JSON.stringify(input))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${environment}, ${script}: exit ${code}\n${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}
