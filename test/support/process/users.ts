/** Processes of other users. Only root can start them; a file's mode binds everybody but root. */
import { spawnSync } from 'node:child_process'

export const isRoot = process.getuid?.() === 0

export interface User {
  readonly uid: number
  readonly gid: number
}

/** Somebody whom modes bind: another user for root, else whoever runs the tests. */
export const boundByModes: Partial<User> = isRoot ? { uid: 65_534, gid: 65_534 } : {}

/** Whether such a user can run what is in this project: a folder above it may be closed to others. */
export const othersCanRun = (file: string): boolean =>
  [process.execPath, file].every((path) => spawnSync('test', ['-r', path], boundByModes).status === 0)
