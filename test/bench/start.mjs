/**
 * `npm run bench:start`: measures what a process costs before and after its work, in wall time and CPU, as a ratio to `node -e 0`.
 * The sync is the second one of a world of three surveys: it lists one page and has nothing to refresh. Each figure is the lowest
 * of several runs, because other programs only make a run slower.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { envOf, lowestOf, main, startWorld } from './processes.mjs'

const RUNS = Number(process.argv[2] ?? 15)

const world = await startWorld(['--surveys', '3', '--rate-window', 'none', '--clock', 'frozen'])
const warehouse = await mkdtemp(join(tmpdir(), 'fieldwork-sync-start-'))
try {
  measureAll(envOf(world, warehouse))
} finally {
  await world.close()
  await rm(warehouse, { recursive: true, force: true })
}

function measureAll(env) {
  lowestOf(1, [main, 'sync'], env)
  console.log(`lowest of ${RUNS} runs, node ${process.version}`)
  console.log('command         wall ms  CPU ms  wall against node -e 0  CPU against node -e 0')
  const node = lowestOf(RUNS, ['-e', '0'], env)
  print('node -e 0', node, node)
  for (const command of ['--version', '--help', 'status', 'plan', 'sync'])
    print(command, lowestOf(RUNS, [main, command], env), node)
}

function print(what, { wall, cpu }, node) {
  console.log(
    [
      what.padEnd(14),
      (wall * 1000).toFixed(0).padStart(7),
      (cpu * 1000).toFixed(0).padStart(6),
      `${(wall / node.wall).toFixed(2)} x`.padStart(22),
      `${(cpu / node.cpu).toFixed(2)} x`.padStart(21),
    ].join('  '),
  )
}
