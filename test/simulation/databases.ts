/**
 * The databases of the processes under simulation, all of them attached to one instance of DuckDB: an instance of its own
 * for each would cost more than everything that is asked of it. What holds of the files is the same.
 */
import { basename } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { generations } from './generation.js'

export interface DatabaseFile {
  /** A connection that begins in this file. */
  connect(): Promise<DuckDBConnection>
  /** What was written is checkpointed; `settled` tells when. */
  close(): void
  /** The same, for a process that was killed: with its connections, and what they had attached. */
  abandon(): void
}

export interface Databases extends Disposable {
  /** Opens a file, and creates it unless read-only; rejects where it cannot be read. */
  open(file: string, isReadOnly: boolean): Promise<DatabaseFile>
  /** When everything that was closed is closed. */
  settled(): Promise<void>
}

export const createDatabases = async (): Promise<Databases> => {
  const instance = await DuckDBInstance.create(':memory:', FOR_A_HANDFUL_OF_ROWS)
  const own = await instance.connect()
  let closing: Promise<unknown> = Promise.resolve()
  let opened = 0
  const detach = (names: readonly string[]) => {
    for (const name of names) {
      // What cannot be checkpointed is passed over, as by the end of a process: the next one finds what is there.
      const end = () => own.run(`DETACH DATABASE IF EXISTS "${name}"`).catch(() => undefined)
      closing = generations.exit(() => closing.then(end))
    }
  }
  return {
    open: async (file, isReadOnly) => {
      await closing
      // `COPY FROM DATABASE` calls the work database by the name that DuckDB gives it.
      opened += 1
      const name = basename(file, '.duckdb') === 'work' ? 'work' : `file_${opened}`
      const options = isReadOnly ? 'READ_ONLY' : `BLOCK_SIZE ${BLOCK_BYTES}`
      await own.run(`ATTACH '${file.replaceAll("'", "''")}' AS "${name}" (${options})`)
      const connections: DuckDBConnection[] = []
      let isOpen = true
      const closeOnce = (names: readonly string[]) => {
        if (isOpen) detach(names)
        isOpen = false
      }
      return {
        connect: async () => {
          const connection = await instance.connect()
          connections.push(connection)
          await connection.run(`USE "${name}"`)
          return connection
        },
        close: () => closeOnce([name]),
        abandon: () => {
          if (!isOpen) return
          for (const connection of connections) connection.closeSync()
          closeOnce([name, ...ATTACHED_BY_THE_CODE_UNDER_TEST])
        },
      }
    },
    settled: async () => {
      await closing
    },
    [Symbol.dispose]: () => {
      own.closeSync()
      instance.closeSync()
    },
  }
}

const ATTACHED_BY_THE_CODE_UNDER_TEST = ['compacted', 'published']

const BLOCK_BYTES = '16384'

/** Without a second thread, compression and large blocks everything costs less. */
const FOR_A_HANDFUL_OF_ROWS = {
  threads: '1',
  force_compression: 'uncompressed',
  default_block_size: BLOCK_BYTES,
}
