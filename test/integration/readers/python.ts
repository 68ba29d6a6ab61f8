/**
 * Python with the readers that `npm run readers` installs below `.readers`. The interpreter is the environment variable
 * FIELDWORK_SYNC_TEST_PYTHON, else `python3`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { SLOW } from '../../support/suite/slow.js'

const PYTHON = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const root = new URL('../../../', import.meta.url).pathname

/** The names of the environments, in their order. */
export const ENVIRONMENTS: readonly string[] = Object.keys(
  JSON.parse(readFileSync(`${root}test/integration/readers/environments.json`, 'utf8')),
)

const directoryOf = (environment: string): string => `${root}.readers/${environment}`

/** Why an environment cannot be used; null when it can. */
export const whyNoEnvironment = (environment: string): string | null => {
  if (!SLOW) return 'only in the slow suite'
  if (!existsSync(`${directoryOf(environment)}/environment.json`))
    return `not installed: npm run readers ${environment}`
  if (environment === 'spark' && spawnSync('java', ['-version']).status !== 0)
    return 'Spark needs Java 17 or newer on the PATH'
  return null
}

/** Runs a script with its input as JSON on stdin, and gives what it prints last as JSON. Rejects with what it said when it fails. */
export const runPython = async (environment: string, script: string, input: unknown): Promise<unknown> => {
  const child = spawn(PYTHON, [script], {
    env: { ...process.env, PYTHONPATH: directoryOf(environment), TZ: 'America/St_Johns' },
    stdio: 'pipe',
  })
  let [told, complained] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complained += text
  })
  child.stdin.end(JSON.stringify(input))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${environment}, ${script}: exit ${code}\n${complained}`)
  return JSON.parse(told.trim().split('\n').at(-1) ?? '')
}
