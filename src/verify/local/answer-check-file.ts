/** The child process that answers one question of `check-file.ts`. It holds no lock, and writes only into the spill directory. */
import { parse } from '../../base/parse.js'
import { checkFile, fileQuestion } from './check-file.js'

const [question = '', spill = ''] = process.argv.slice(2)
const endWithParent = () => process.kill(process.pid, 'SIGTERM')

const answer = async (): Promise<void> => {
  process.once('disconnect', endWithParent)
  const proof = await checkFile(
    parse(fileQuestion, JSON.parse(question), 'the question'),
    spill,
    new AbortController().signal,
  )
  process.send?.(proof, () => {
    process.off('disconnect', endWithParent)
    process.disconnect()
  })
}

void answer()
