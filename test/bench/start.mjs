/**
 * `npm run bench -- start`: measures what a process costs before and after its work, in wall time and CPU, as a ratio to `node -e 0`.
 * The sync is the second one of a world of three surveys: it lists one page and has nothing to refresh. Each figure is the lowest
 * of several runs, because other programs only make a run slower.
 */
import { inWorld, lowestOf, main, table } from './support.mjs'

const RUNS = Number(process.argv[2] ?? 15)

await inWorld(3, async ({ env, sync }) => {
  await sync()
  console.log(`lowest of ${RUNS} runs, node ${process.version}`)
  const row = table('command       |wall ms:0|CPU ms:0|wall against node -e 0:2 x|CPU against node -e 0:2 x')
  const node = lowestOf(RUNS, ['-e', '0'], env)
  const print = (what, { wall, cpu }) =>
    row(what, wall * 1_000, cpu * 1_000, wall / node.wall, cpu / node.cpu)
  print('node -e 0', node)
  for (const command of ['--version', '--help', 'status', 'plan', 'sync'])
    print(command, lowestOf(RUNS, [main, command], env))
})
