/**
 * Virtual environments of the peers, below `.peers`, which git ignores. An environment that is complete is used again until its
 * requirements change. pip finds the packages where its own settings say.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ENVIRONMENTS = fileURLToPath(new URL('../../../.peers', import.meta.url))

const python = process.env.FIELDWORK_SYNC_TEST_PYTHON ?? 'python3'
const INSTALL_MS_MAX = 900_000

/** `list` is the path of a requirements file in this folder. Returns the directory with the programs of the environment. */
export const install = async (list, root) => {
  const requirements = readRequirements(list)
  const directory = `${root}/${list.replace('/requirements', '').replace('/', '-').replace('.txt', '')}`
  const done = `${directory}/requirements.txt`
  if (existsSync(done) && readFileSync(done, 'utf8') === requirements) return `${directory}/bin`
  await rm(directory, { recursive: true, force: true })
  const run = promisify(execFile)
  await run(python, ['-m', 'venv', directory])
  const options = ['--quiet', '--disable-pip-version-check', '--retries', '1', '-r', pathOf(list)]
  await run(`${directory}/bin/python`, ['-m', 'pip', 'install', ...options], { timeout: INSTALL_MS_MAX })
  await writeFile(done, requirements)
  return `${directory}/bin`
}

/** Names and versions of a requirements file. */
export const versionsOf = (list) =>
  readRequirements(list)
    .split('\n')
    .flatMap((line) => {
      const [, name, version] = /^([\w-]+)(?:\[[\w,]+\])?==(\S+)$/.exec(line) ?? []
      return name === undefined ? [] : [{ name, version }]
    })

const pathOf = (list) => fileURLToPath(new URL(list, import.meta.url))
const readRequirements = (list) => readFileSync(pathOf(list), 'utf8')
