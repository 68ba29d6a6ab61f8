/** Users for processes whose access depends on file modes. Modes do not bind root, and only root can change the user. */
import { spawnSync } from 'node:child_process'
import { MAIN } from '../command/command.js'
import { lacks } from '../suite/lacks.js'

export const isRoot = process.getuid?.() === 0

export interface User {
  readonly uid: number
  readonly gid: number
}

/** A user whom modes bind: another user where root runs the tests, else the current user. */
export const boundByModes: Partial<User> = isRoot ? { uid: 65_534, gid: 65_534 } : {}

/** Whether `boundByModes` can run a file of this project: a folder above it may be closed to others. */
const othersCanRun = (file: string): boolean =>
  [process.execPath, file].every((path) => spawnSync('test', ['-r', path], boundByModes).status === 0)

/** For `skipIf`: whether a test cannot run the command as another user. */
export const lacksUsers = (): boolean =>
  lacks('root, and a folder that others can read', isRoot && othersCanRun(MAIN))
