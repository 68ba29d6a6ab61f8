/**
 * `npm run bench:start`: measures what a process costs before and after its work, in wall time and CPU, as a ratio to `node -e 0`.
 * The sync is the second one of a world of three surveys: it lists one page and has nothing to refresh. Each figure is the lowest
 * of several runs, because other programs only make a run slower.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const main = new URL('../../dist/main.js', import.meta.url).pathname
const RUNS = Number(process.argv[2] ?? 15)
/** Prints wall time and CPU of the process in seconds, without those of the shell. */
const TIMED = 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null'

const flags = '--port 0 --surveys 3 --rate-window none --clock frozen'
const server = spawn(process.execPath, [main, 'reference-server', ...flags.split(' ')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const warehouse = await mkdtemp(join(tmpdir(), 'fieldwork-sync-start-'))
try {
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  const { base_url, accounts } = JSON.parse(line)
  measureAll({
    PATH: process.env.PATH,
    FIELDWORK_SYNC_BASE_URL: base_url,
    FIELDWORK_SYNC_API_ID: String(accounts[0].id),
    FIELDWORK_SYNC_API_TOKEN: accounts[0].token,
    FIELDWORK_SYNC_RATE_LIMIT: '10000/100ms',
    FIELDWORK_SYNC_WAREHOUSE: warehouse,
    FIELDWORK_SYNC_LOG_LEVEL: 'error',
  })
} finally {
  server.kill('SIGTERM')
  await rm(warehouse, { recursive: true, force: true })
}

function measureAll(env) {
  run([main, 'sync'], env)
  console.log(`lowest of ${RUNS} runs, node ${process.version}`)
  console.log('command         wall ms  CPU ms  wall against node -e 0  CPU against node -e 0')
  const node = lowest(['-e', '0'], env)
  print('node -e 0', node, node)
  for (const command of ['--version', '--help', 'status', 'plan', 'sync'])
    print(command, lowest([main, command], env), node)
}

function lowest(args, env) {
  const runs = Array.from({ length: RUNS }, () => run(args, env))
  return {
    wallMs: Math.min(...runs.map(({ wallMs }) => wallMs)),
    cpuMs: Math.min(...runs.map(({ cpuMs }) => cpuMs)),
  }
}

function run(args, env) {
  const { status, stderr } = spawnSync('bash', ['-c', TIMED, 'bash', process.execPath, ...args], {
    env,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  const [wall, user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return { wallMs: wall * 1000, cpuMs: (user + system) * 1000 }
}

function print(what, { wallMs, cpuMs }, node) {
  console.log(
    [
      what.padEnd(14),
      wallMs.toFixed(0).padStart(7),
      cpuMs.toFixed(0).padStart(6),
      `${(wallMs / node.wallMs).toFixed(2)} x`.padStart(22),
      `${(cpuMs / node.cpuMs).toFixed(2)} x`.padStart(21),
    ].join('  '),
  )
}
