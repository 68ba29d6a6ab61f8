/** Small disks of their own for tests, with as much room left as a test wants. Where mounting is not allowed, the test is skipped. */
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Finished, temporaryDirectory } from './temporary.js'

interface TestContext {
  skip(note: string): void
  readonly onTestFinished: Finished
}

export interface Disk {
  readonly directory: string
  /** Leaves so many KiB free. */
  fill(leftKib: number): void
  /** Gives the room back. */
  clear(): Promise<void>
}

/** An empty disk of so many MiB; null where mounting is not allowed. */
export const openDisk = async (context: TestContext, mib: number): Promise<Disk | null> => {
  const directory = await temporaryDirectory(context.onTestFinished)
  if (!mount(context, ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', directory], directory)) return null
  const filler = join(directory, 'filler')
  return {
    directory,
    fill: (leftKib) => {
      const free = Number(
        execFileSync('df', ['--output=avail', '-k', directory], { encoding: 'utf8' }).split('\n')[1],
      )
      execFileSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1K', `count=${Math.max(0, free - leftKib)}`], {
        stdio: 'pipe',
      })
    },
    clear: () => rm(filler, { force: true }),
  }
}

/** Makes a directory read-only the way a mount does, for root as well; returns how to undo it, null where that is not allowed. */
export const mountReadOnly = (context: TestContext, directory: string): (() => void) | null => {
  if (!mount(context, ['--bind', directory, directory], directory)) return null
  execFileSync('mount', ['-o', 'remount,bind,ro', directory])
  return () => execFileSync('umount', ['-l', directory])
}

const mount = ({ skip, onTestFinished }: TestContext, args: readonly string[], at: string): boolean => {
  try {
    execFileSync('mount', args, { stdio: 'pipe' })
  } catch {
    skip('mounting is not allowed here')
    return false
  }
  onTestFinished(() => {
    try {
      execFileSync('umount', ['-l', at], { stdio: 'pipe' })
    } catch {
      // The test has done it.
    }
  })
  return true
}
