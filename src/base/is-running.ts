/** Looks for a process of this machine, or of this container. */
import { hasCode } from './errors.js'

/** Whether a process with this id runs here. Another container may have its own process with this id. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}
