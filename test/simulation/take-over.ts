/** Replaces time, files and databases of this process with those of the simulation, for good. */
import { copyFileSync } from 'node:fs'
import { createDatabases, type Databases } from './databases.js'
import { installOperations } from './operations.js'
import { VirtualTime } from './virtual-time.js'

// The command loads it only with `storage`. Loading is not counted as a step, so it happens now.
import '../../src/storage/bucket/bucket-storage.js'

export interface TakenOver extends Disposable {
  readonly time: VirtualTime
  readonly databases: Databases
}

export const takeOver = async (): Promise<TakenOver> => {
  // The code under test reads its version from the file two directories above its own.
  copyFileSync(
    new URL('../../../package.json', import.meta.url),
    new URL('../../package.json', import.meta.url),
  )
  const time = new VirtualTime()
  time.install()
  const databases = await createDatabases()
  await installOperations(time, databases)
  return { time, databases, [Symbol.dispose]: () => databases[Symbol.dispose]() }
}
