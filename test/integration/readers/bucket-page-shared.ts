/** What both test files of bucket-page use. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const page = readFileSync(new URL('../../../docs/how-to/read-from-a-bucket.md', import.meta.url), 'utf8')
const blocksOf = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  )

/** Athena and Trino cannot be had. Spark reads the same Delta tables in another test. */
export const SQL = blocksOf('sql').filter((block) => !/^(CREATE EXTERNAL|CALL)/.test(block))
export const PYTHON = blocksOf('python').filter((block) => !block.includes('pyspark'))

export const [ADDRESSES = '', TIME_TRAVEL = '', DELTA = '', EARLIER = ''] = SQL
export const answer = z.object({
  sql: z.array(z.array(z.array(z.string()))),
  python: z.array(z.array(z.tuple([z.string(), z.number()]))),
})
