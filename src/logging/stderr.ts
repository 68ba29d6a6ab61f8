/**
 * Standard error with synchronous writes. `process.stderr` is not enough: it writes asynchronously to a socket, which most
 * supervisors give to the processes that they start. `process.exit` then loses the queued lines (measured: 617 of 2,000 lines).
 */
import { writeSync } from 'node:fs'
import { hasCode } from '../base/errors.js'
import { visible } from './visible.js'

/** A destination for text. */
export interface TextStream {
  write(text: string): unknown
}

const STDERR = 2
/** How long a line waits for a stuck reader. After that the line is lost, so that the reader cannot stop the run. */
const STALL_MS_MAX = 2_000
const RETRY_MS = 5

/** Writes texts, with control characters as text. */
export const createStderr = (): TextStream => {
  const terminal = createTerminal()
  return { write: (text) => terminal.write(visible(text)) }
}

/** Writes texts unchanged: hidden characters were already made visible, and the rest is sequences of ours. */
export const createTerminal = (): TextStream =>
  Object.freeze({
    write: (text: string): void => {
      let rest = Buffer.from(text)
      const deadlineMs = performance.now() + STALL_MS_MAX
      try {
        while (rest.length > 0 && performance.now() < deadlineMs) {
          const written = writeSome(STDERR, rest)
          if (written === 0) pause(RETRY_MS)
          rest = rest.subarray(written)
        }
      } catch {
        // The reader is gone, which must not fail a sync.
      }
    },
  })

/** The number of bytes that a stream took; 0 while its reader does not keep up. */
export const writeSome = (stream: number, bytes: Uint8Array): number => {
  try {
    return writeSync(stream, bytes)
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return 0
    throw error
  }
}

const pause = (durationMs: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs)
}

export type StatusLine = ReturnType<typeof createStatusLine>

/** Moves to the first column, then clears to the end of the line. */
const CLEAR = '\r\u001b[K'

/**
 * The last line of a terminal, redrawn in place, with log lines above it. The log writes to this stream instead of the
 * terminal, so that its lines and the status do not mix. The cursor stays visible, so a killed process leaves nothing to restore.
 */
export const createStatusLine = (terminal: TextStream) => {
  let status = ''
  return {
    /** Writes whole lines, each with its newline, above the status. */
    write: (text: string): void => {
      terminal.write(status === '' ? text : `${CLEAR}${text}${status}`)
    },
    /** Replaces the status with one line that is not wider than the terminal. */
    draw: (line: string): void => {
      const text = visible(line)
      if (text === status) return
      terminal.write(`${CLEAR}${text}`)
      status = text
    },
    /** Erases the status until the next `draw`. */
    erase: (): void => {
      if (status !== '') terminal.write(CLEAR)
      status = ''
    },
  }
}
