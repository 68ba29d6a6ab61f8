/**
 * Texts for a terminal. A control character in a title of a survey, an error of a server or a file name could move the cursor, or change
 * the terminal's title or replies. Characters of direction and of no width could make a text look like another one.
 */
import { randomUUID } from 'node:crypto'

/** Stands for the escape character where we colour a text. It is random, so no text from outside can begin a sequence. */
export const ESCAPE = `\u001b${randomUUID()}`

/** Characters that a terminal does not show, apart from line breaks and tabs. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Every hidden character as `\u202e`, which JSON reads as that character. `ESCAPE` becomes the escape character. */
export const visible = (text: string): string =>
  text
    .split(ESCAPE)
    .map((part) => part.replaceAll(HIDDEN, inWords))
    .join('\u001b')

const inWords = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
