/**
 * The databases of the processes under simulation, all attached to one instance of DuckDB. An instance for each would cost
 * more than all of its statements. The files are the same.
 */
import { basename } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { generations } from './generation.js'

interface DatabaseFile {
  connect(): Promise<DuckDBConnection>
  /** Checkpoints and closes the file; `settled` resolves afterwards. */
  close(): void
  /** The same for a killed process: closes its connections too, and detaches the files that they had attached. */
  abandon(): void
}

export interface Databases extends Disposable {
  /** Whether a work database is open. Only one can be: the code under test uses its name in SQL. */
  holdsWork(): boolean
  /** Opens a file, and creates it unless read-only; rejects where it cannot be read. */
  open(file: string, isReadOnly: boolean): Promise<DatabaseFile>
  /** Resolves when every closed file has been detached. */
  settled(): Promise<void>
}

export const createDatabases = async (): Promise<Databases> => {
  const instance = await DuckDBInstance.create(':memory:', FOR_A_HANDFUL_OF_ROWS)
  const own = await instance.connect()
  let closing: Promise<unknown> = Promise.resolve()
  let opened = 0
  let works = 0
  const detach = (names: readonly string[]) => {
    for (const name of names) {
      // A failed checkpoint is ignored, as at the end of a process. The next process finds the files as they are.
      const end = () => own.run(`DETACH DATABASE IF EXISTS "${name}"`).catch(() => undefined)
      closing = generations.exit(() => closing.then(end))
    }
  }
  return {
    holdsWork: () => works > 0,
    open: async (file, isReadOnly) => {
      await closing
      // `COPY FROM DATABASE` uses the name that DuckDB gives the work database.
      opened += 1
      const isWork = basename(file, '.duckdb') === 'work' && !isReadOnly
      const name = isWork ? 'work' : `file_${opened}`
      const options = isReadOnly ? 'READ_ONLY' : `BLOCK_SIZE ${BLOCK_BYTES}`
      await own.run(`ATTACH '${file.replaceAll("'", "''")}' AS "${name}" (${options})`)
      if (isWork) works += 1
      const connections: DuckDBConnection[] = []
      let isOpen = true
      const closeOnce = (names: readonly string[]) => {
        if (isOpen) detach(names)
        if (isOpen && isWork) works -= 1
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

const ATTACHED_BY_THE_CODE_UNDER_TEST = ['other']

const BLOCK_BYTES = '16384'

/** One thread, no compression and small blocks make everything faster. */
const FOR_A_HANDFUL_OF_ROWS = {
  threads: '1',
  force_compression: 'uncompressed',
  default_block_size: BLOCK_BYTES,
}
