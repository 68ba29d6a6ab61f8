/** The SQL or the name of a query, from the command line or stdin. */
import { isUtf8 } from 'node:buffer'
import { addAbortSignal } from 'node:stream'
import { throwIfAborted } from '../../base/signals.js'
import type { CliContext } from '../context.js'
import { refused } from './statement.js'

/** Throws `query_refused` for text that is not UTF-8, or too long. */
export const textOf = async (context: CliContext, input: string): Promise<string> => {
  const text = input === '-' ? await textOnStdin(context) : input
  if (text !== null && !/[\0\uFFFD]/.test(text)) return text
  throw refused(
    'the SQL is not UTF-8 text. Convert it, as in iconv -f LATIN1 -t UTF-8 query.sql; for the character U+FFFD itself write chr(65533)',
  )
}

/** Null for bytes that are not UTF-8. */
const textOnStdin = async ({ stdin, signal }: CliContext): Promise<string | null> => {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of addAbortSignal(signal, stdin())) {
      chunks.push(Buffer.from(chunk))
      length += chunk.length
      if (length > TEXT_BYTES_MAX) throw refused('the query on stdin is longer than 1 MiB')
    }
  } catch (error) {
    throwIfAborted(signal)
    throw error
  }
  const bytes = Buffer.concat(chunks)
  return isUtf8(bytes) ? new TextDecoder().decode(bytes) : null
}

const TEXT_BYTES_MAX = 1_048_576
