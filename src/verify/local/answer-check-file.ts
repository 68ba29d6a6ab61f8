/** Answers one question of `check-file.ts`, its parent process. It holds nothing and writes only into the spill directory. */
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import { checkFile } from './check-file.js'

const questionSchema = z.object({
  file: z.string(),
  state: z.string(),
  parquet: z.object({ directory: z.string(), state: z.string() }).nullable(),
})

const [question = '', spill = ''] = process.argv.slice(2)
const endWithParent = () => process.kill(process.pid, 'SIGTERM')

process.once('disconnect', endWithParent)
const proof = await checkFile(
  parse(questionSchema, JSON.parse(question), 'the question'),
  spill,
  new AbortController().signal,
)
process.send?.(proof, () => {
  process.off('disconnect', endWithParent)
  process.disconnect()
})
