/**
 * Finds a secret in the encodings in which servers echo a header: as it is, with escapes of JSON, percent-encoded as in addresses or forms,
 * with entities of HTML, in base64 and in hex. Each character may be encoded in its own way, and twice.
 */

/** Shorter texts would be found by chance in base64 and hex. */
const ENCODED_BYTES_MIN = 8

/** One pattern for each encoding. V8 takes 8 ms to compile them, and 220 ms to compile one pattern of all of them. */
export const encodedPatterns = (secret: string): readonly RegExp[] => {
  const bytes = Buffer.from(secret)
  const isLong = bytes.length >= ENCODED_BYTES_MIN
  const texts = [secret, ...(isLong ? inBase64(bytes) : [])].map((text) => Array.from(text, anyForm).join(''))
  const hex = isLong ? [anyCase(bytes.toString('hex'))] : []
  return [...texts, ...hex].map((pattern) => new RegExp(pattern, 'gu'))
}

/**
 * Base64 encodes three bytes at a time, so a secret inside a longer text may begin at any of three offsets. Characters that also encode a
 * neighbouring byte are left out.
 */
const inBase64 = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const shared = (before + bytes.length) % 3 === 0 ? 0 : 1
    return text.slice(Math.ceil((before * 8) / 6), text.length - shared)
  })

const NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/** In base64, `-` and `_` may take the places of `+` and `/`. */
const SAME: Readonly<Record<string, string>> = { '+': '-', '/': '_' }

/** One character, encoded in any way or not at all. Repetitions are bounded, so that a hostile text costs no more than a long one. */
const anyForm = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  const bytes = [...Buffer.from(character)].map((byte) => byte.toString(16).padStart(2, '0'))
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  const named = NAMES[character] === undefined ? '' : `|${NAMES[character]}`
  const literal = `\\u{${hex}}`
  return `(?:${[
    bytes.map((byte) => `%(?:25){0,3}${anyCase(byte)}`).join(''),
    units.map((unit) => `\\\\{1,7}u${anyCase(unit)}`).join(''),
    `&(?:amp;){0,3}(?:#0{0,6}${code}|#[xX]0{0,6}${anyCase(hex)}${named});`,
    ...(character === ' ' ? ['\\+'] : []),
    ...(SAME[character] === undefined ? [] : [SAME[character]]),
    `${/["/\\]/.test(character) ? '\\\\{0,7}' : ''}${literal}`,
  ].join('|')})`
}

/** Hexadecimal digits as capital and small letters. */
const anyCase = (digits: string): string =>
  digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
