/**
 * `npm run nodes -- [VERSION …]` installs versions of Node, and runs the command with each: a sync, and what reads it.
 * Without versions: the oldest of each minor since 20.18. A version that `engines` refuses must end with exit 2 and one line.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const main = join(root, 'dist/main.js')
const platform = `node-${process.platform}-${process.arch}`
const environment = { PATH: process.env.PATH }

const npm = (args, options) =>
  execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options })

/** Version 24.10.1 as 24.10. */
const minorOf = (version) => version.split('.').slice(0, 2).join('.')

const oldestOfMinors = () => {
  const versions = JSON.parse(npm(['view', platform, 'versions', '--json'])).filter((one) =>
    /^\d+\.\d+\.\d+$/.test(one),
  )
  const since = versions.filter((version) => {
    const [major, minor] = version.split('.').map(Number)
    return major > 20 || (major === 20 && minor >= 18)
  })
  const oldest = new Map(since.toReversed().map((version) => [minorOf(version), version]))
  return [...oldest.values()].reverse()
}

const installed = (version, directory) => {
  npm(['install', '--silent', '--no-save', '--force', '--prefix', directory, `${platform}@${version}`])
  return join(directory, 'node_modules', platform, 'bin/node')
}

/** What went wrong; null if nothing did. */
const problemOf = async (node, directory) => {
  const server = spawn(node, [main, 'reference-server', '--surveys', '4', '--port', '0'], {
    env: environment,
  })
  try {
    // It prints its address and its accounts as one line of JSON.
    const [line] = await once(createInterface(server.stdout), 'line', { signal: AbortSignal.timeout(60_000) })
    const { base_url, accounts } = JSON.parse(line)
    const settings = {
      ...environment,
      FIELDWORK_SYNC_BASE_URL: base_url,
      FIELDWORK_SYNC_API_ID: String(accounts[0].id),
      FIELDWORK_SYNC_API_TOKEN: accounts[0].token,
      FIELDWORK_SYNC_WAREHOUSE: join(directory, 'warehouse'),
    }
    for (const args of COMMANDS) {
      const ended = spawnSync(node, [main, ...args], { cwd: directory, env: settings, encoding: 'utf8' })
      if (ended.status !== 0) return `${args[0]} ends with ${ended.status}: ${ended.stdout}${ended.stderr}`
    }
    return null
  } catch (error) {
    return `reference-server: ${error.message}`
  } finally {
    server.kill()
  }
}

const COMMANDS = [
  ['check'],
  ['sync'],
  ['status'],
  ['query', 'needs-action'],
  ['query', 'FROM surveys', '--output', 'surveys.xlsx'],
  ['export', '--format', 'parquet', '--out', 'files'],
  ['report', '--out', 'report.html'],
]

const [ok, refused, failed] = [[], [], []]
for (const version of process.argv.length > 2 ? process.argv.slice(2) : oldestOfMinors()) {
  const directory = mkdtempSync(join(tmpdir(), 'fieldwork-sync-node-'))
  try {
    const node = installed(version, directory)
    const { status, stderr } = spawnSync(node, [main, '--version'], { env: environment, encoding: 'utf8' })
    const isRefused = status === 2 && /^fieldwork-sync: Node .* is needed, .*\n$/.test(stderr)
    const problem = isRefused ? null : await problemOf(node, directory)
    if (problem !== null) process.stdout.write(`${problem}\n`)
    const list = isRefused ? refused : problem === null ? ok : failed
    list.push(version)
    process.stdout.write(`${version} ${isRefused ? 'is refused' : problem === null ? 'ok' : 'FAILED'}\n`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
process.stdout.write(`ok: ${ok.map(minorOf).join(', ')}\nrefused: ${refused.map(minorOf).join(', ')}\n`)
process.exitCode = failed.length === 0 ? 0 : 1
