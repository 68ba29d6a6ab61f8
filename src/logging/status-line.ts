/**
 * The last line of a terminal, drawn over and over, with log lines appearing above it. The log writes to this
 * instead of to the terminal, so that the two cannot write into each other. The cursor is never hidden: there is
 * nothing to restore when the process is killed.
 */
import type { TextStream } from './stderr.js'

export interface StatusLine extends TextStream {
  /** Whole lines, each with its newline: they go above the status. */
  write(text: string): void
  /** Replaces the status. One line, not wider than the terminal. */
  draw(text: string): void
  /** Erases it. It comes back with the next `draw`. */
  erase(): void
}

/** To the first column, then clear to the end of the line. */
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
