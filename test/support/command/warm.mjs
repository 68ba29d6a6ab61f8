/**
 * The built command, loaded once: runs the command lines that its parent sends, one after the other, as `dist/main.js`
 * would. What each prints, to either stream, ends with a mark of the parent's.
 */
import { runCommandLine } from '../../../dist/commands/command-line.js'

process.on('message', async ({ args, env, mark }) => {
  const { signal } = new AbortController()
  const code = await runCommandLine(args, { signal, env, stdout: process.stdout, stderr: process.stderr })
  process.stdout.write(mark)
  process.stderr.write(mark)
  process.send(code)
})
process.on('disconnect', () => process.exit())
