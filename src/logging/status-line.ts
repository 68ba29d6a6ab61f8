/**
 * The last line of a terminal, redrawn in place, with log lines above it. The log writes to this stream instead of the
 * terminal, so that its lines and the status do not mix. The cursor stays visible, so a killed process leaves nothing to restore.
 */
import type { TextStream } from './stderr.js'

export interface StatusLine extends TextStream {
  /** Writes whole lines, each with its newline, above the status. */
  write(text: string): void
  /** Replaces the status with one line that is not wider than the terminal. */
  draw(text: string): void
  /** Erases the status until the next `draw`. */
  erase(): void
}

/** Moves to the first column, then clears to the end of the line. */
const CLEAR = '\r\u001b[K'

export const createStatusLine = (terminal: TextStream): StatusLine => {
  let status = ''
  return {
    write: (text) => {
      terminal.write(status === '' ? text : `${CLEAR}${text}${status}`)
    },
    draw: (text) => {
      if (text === status) return
      terminal.write(`${CLEAR}${text}`)
      status = text
    },
    erase: () => {
      if (status !== '') terminal.write(CLEAR)
      status = ''
    },
  }
}
