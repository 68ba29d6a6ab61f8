/**
 * Loads the built command once and runs the parent's command lines one after the other, as `dist/main.js` would.
 * After each command line it prints the parent's mark to both streams.
 */
import { runCommandLine } from '../../../dist/commands/command-line.js'

process.on('message', async ({ args, env, cwd, mark }) => {
  const { signal } = new AbortController()
  process.chdir(cwd)
  // Libraries read their own variables there.
  process.env = env
  const code = await runCommandLine(args, {
    signal,
    env,
    stdin: () => process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    endNow: () => process.kill(process.pid, 'SIGTERM'),
  })
  process.stdout.write(mark)
  process.stderr.write(mark)
  process.send(code)
})
process.on('disconnect', () => process.exit())
