/**
 * The slots of the rate window, as many as the cap. A job of Bottleneck holds a block of slots; a block has one slot unless the cap is
 * large. Bottleneck starts at most 300 jobs a second, so a job for each request would slow down a large cap
 * (docs/decisions/cap.md#0018-a-request-holds-its-slot-until-a-window-after-its-answer). A free slot of a block can be used again while
 * others of the block are held, so a slow request holds back no slot but its own.
 */
import Bottleneck from 'bottleneck'

/** With fewer blocks, more slots than one in a hundred could be left over, too few for a block. */
const BLOCKS_MIN = 100

/**
 * Bottleneck schedules the next job no earlier than the last one plus `minTime`, by the wall clock, even for 0: after the clock was put
 * back by an hour, all jobs waited an hour. With this value the next job is always due.
 */
const NEVER_WAITS = Number.NEGATIVE_INFINITY

interface Block {
  freeSlots: number
  /** Ends the job: Bottleneck can give the slots of the block to another one. */
  end(): void
}

export type FreeSlot = () => void

/** `onFree` is called when slots are free. A request that waits takes one, which saves a job. */
export const createSlotBlocks = (cap: number, onFree: () => void) => {
  const size = Math.max(1, Math.floor(cap / BLOCKS_MIN))
  const bottleneck = new Bottleneck({ maxConcurrent: cap, minTime: NEVER_WAITS })
  const blocks = new Set<Block>()
  let freeSlots = 0
  /** Slots of the jobs that wait. */
  let requestedSlots = 0
  let hasBegun = false

  // Before its first job Bottleneck uses the wall clock of its construction: this empty job absorbs that. It takes no slot,
  // because it waits for an hour if the clock was put back by one; `close` drops it then.
  const begin = () => {
    hasBegun = true
    return Promise.resolve()
  }
  bottleneck.schedule({ weight: 0 }, begin).catch(whenClosed)

  const grant = (end: () => void): void => {
    requestedSlots -= size
    freeSlots += size
    blocks.add({ freeSlots: size, end })
    onFree()
  }

  const free = (block: Block): void => {
    freeSlots += 1
    block.freeSlots += 1
    blocks.add(block)
    onFree()
    if (block.freeSlots < size) return
    blocks.delete(block)
    freeSlots -= size
    block.end()
  }

  return {
    /** Requests blocks until so many slots are free or requested. */
    request: (slots: number): void => {
      while (freeSlots + requestedSlots < slots) {
        requestedSlots += size
        const hold = () => new Promise<void>(grant)
        bottleneck.schedule({ weight: size }, hold).catch(whenClosed)
      }
    },
    take: (): FreeSlot | null => {
      for (const block of blocks) {
        freeSlots -= 1
        block.freeSlots -= 1
        if (block.freeSlots === 0) blocks.delete(block)
        return () => free(block)
      }
      return null
    },
    close: (): void => {
      if (!hasBegun) bottleneck.stop({ dropWaitingJobs: true }).catch(whenClosed)
    },
  }
}

/** `close` drops jobs. */
const whenClosed = (): undefined => undefined
