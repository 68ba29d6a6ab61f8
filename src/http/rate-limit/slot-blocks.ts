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

export class SlotBlocks {
  readonly #bottleneck: Bottleneck
  readonly #size: number
  readonly #onGranted: () => void
  readonly #blocks = new Set<Block>()
  #freeSlots = 0
  /** Slots of the jobs that wait. */
  #requestedSlots = 0
  #hasBegun = false

  /** `onGranted` is called after each new block. */
  constructor(cap: number, onGranted: () => void) {
    this.#size = Math.max(1, Math.floor(cap / BLOCKS_MIN))
    this.#onGranted = onGranted
    this.#bottleneck = new Bottleneck({ maxConcurrent: cap, minTime: NEVER_WAITS })
    // Before its first job Bottleneck uses the wall clock of its construction: this empty job absorbs that. It takes no slot,
    // because it waits for an hour if the clock was put back by one; `close` drops it then.
    const begin = () => {
      this.#hasBegun = true
      return Promise.resolve()
    }
    this.#bottleneck.schedule({ weight: 0 }, begin).catch(whenClosed)
  }

  /** Requests blocks until so many slots are free or requested. */
  request(slots: number): void {
    while (this.#freeSlots + this.#requestedSlots < slots) {
      this.#requestedSlots += this.#size
      const hold = () => new Promise<void>((end) => this.#grant(end))
      this.#bottleneck.schedule({ weight: this.#size }, hold).catch(whenClosed)
    }
  }

  take(): FreeSlot | null {
    for (const block of this.#blocks) {
      this.#freeSlots -= 1
      block.freeSlots -= 1
      if (block.freeSlots === 0) this.#blocks.delete(block)
      return () => this.#free(block)
    }
    return null
  }

  close(): void {
    if (!this.#hasBegun) this.#bottleneck.stop({ dropWaitingJobs: true }).catch(whenClosed)
  }

  #grant(end: () => void): void {
    this.#requestedSlots -= this.#size
    this.#freeSlots += this.#size
    this.#blocks.add({ freeSlots: this.#size, end })
    this.#onGranted()
  }

  #free(block: Block): void {
    this.#freeSlots += 1
    block.freeSlots += 1
    this.#blocks.add(block)
    if (block.freeSlots < this.#size) return
    this.#blocks.delete(block)
    this.#freeSlots -= this.#size
    block.end()
  }
}

/** `close` drops jobs. */
const whenClosed = (): undefined => undefined
