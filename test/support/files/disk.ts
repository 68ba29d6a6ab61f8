/** Small disks for tests, with as much free space as a test needs. They need the right to mount. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { lacks } from '../suite/lacks.js'
import { type Finished, temporaryDirectory } from './temporary.js'

interface TestContext {
  skip(): void
  readonly onTestFinished: Finished
}

export interface Disk {
  readonly directory: string
  fill(leftKib: number): void
  clear(): Promise<void>
}

/** An empty disk of `mib` MiB; null where mounting is not allowed. */
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

/** A file system that answers nothing, as a network disk without its server; null where mounting is not allowed. */
export const openSilentDisk = async (context: TestContext): Promise<string | null> => {
  const directory = await temporaryDirectory(context.onTestFinished)
  // The process has the other end of the file system, and never reads from it.
  const script =
    'exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none "$0" && echo mounted && exec sleep 3600'
  const other = spawn('sh', ['-c', script, directory], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(other, 'close')
  const isMounted = await Promise.race([once(other.stdout, 'data').then(() => true), ended.then(() => false)])
  if (!isMounted) {
    lacks('the right to mount a file system of this user (FUSE)', false)
    context.skip()
    return null
  }
  context.onTestFinished(async () => {
    other.kill()
    await ended
    execFileSync('umount', ['-l', directory], { stdio: 'pipe' })
  })
  return directory
}

/** Resolves when a thread of the process waits for a silent disk. */
export const waitsForDisk = async ({ pid = 0 }: ChildProcess): Promise<void> => {
  const waits = (thread: string) =>
    readFileSync(`/proc/${pid}/task/${thread}/wchan`, 'utf8').startsWith('fuse_')
  while (!readdirSync(`/proc/${pid}/task`).some(waits)) await setTimeout(5)
}

/** Mounts a directory read-only, for root as well. Returns the function that undoes it, or null where mounting is not allowed. */
export const mountReadOnly = (context: TestContext, directory: string): (() => void) | null => {
  if (!mount(context, ['--bind', directory, directory], directory)) return null
  execFileSync('mount', ['-o', 'remount,bind,ro', directory])
  return () => execFileSync('umount', ['-l', directory])
}

const mount = ({ skip, onTestFinished }: TestContext, args: readonly string[], at: string): boolean => {
  try {
    execFileSync('mount', args, { stdio: 'pipe' })
  } catch {
    lacks('the right to mount', false)
    skip()
    return false
  }
  onTestFinished(() => {
    try {
      execFileSync('umount', ['-l', at], { stdio: 'pipe' })
    } catch {
      // The test has already unmounted it.
    }
  })
  return true
}
