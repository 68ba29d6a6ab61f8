/**
 * Runs Python with the readers that `npm run readers` installs below `.readers`. The environment variable
 * FIELDWORK_SYNC_TEST_PYTHON names the interpreter; the default is `python3`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type TestFunction, test } from 'vitest'
import { SLOW } from '../../support/suite/slow.js'

const PYTHON = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const root = new URL('../../../', import.meta.url).pathname

/** The names of the environments, in the order of environments.json. */
export const ENVIRONMENTS: readonly string[] = Object.keys(
  JSON.parse(readFileSync(`${root}test/integration/readers/environments.json`, 'utf8')),
)

export const environmentDirectory = (environment: string): string => `${root}.readers/${environment}`

/** The reason why an environment cannot be used, or null. */
export const environmentProblem = (environment: string): string | null => {
  if (!SLOW) return 'only in the slow suite'
  if (!existsSync(`${environmentDirectory(environment)}/environment.json`))
    return `not installed: npm run readers ${environment}`
  if (environment === 'spark' && spawnSync('java', ['-version']).status !== 0)
    return 'Spark needs Java 17 or newer on the PATH'
  return null
}

export const noteOf = (problem: string | null): string => (problem === null ? '' : ` (skipped: ${problem})`)

/** A test that is skipped because of a problem, which its title then names. */
export const testUnless = (
  problem: string | null,
  title: string,
  run: TestFunction,
  timeoutMs?: number,
): void => test.skipIf(problem !== null)(`${title}${noteOf(problem)}`, run, timeoutMs)

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
