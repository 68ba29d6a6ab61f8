/**
 * Texts for a terminal. A control character of a title, an error of a server or a file name could move its cursor, or change its title or
 * what it answers. Characters of direction and of no width could show another text than there is.
 */
import { randomUUID } from 'node:crypto'

/** Stands for the escape character where we colour a text. Nobody else knows it, so no other text begins a sequence. */
export const ESCAPE = `\u001b${randomUUID()}`

/** Apart from line breaks and tabs. */
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
