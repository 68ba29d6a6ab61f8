/**
 * Finds secrets in the encodings in which servers echo a header: as they are, with escapes of JSON, percent-encoded as in addresses or
 * forms, with entities of HTML, in base64 and in hex. Each character may be encoded in its own way, and twice.
 *
 * The text is decoded from each place where a secret may begin, along a tree of all secrets. So the time hardly grows with their number:
 * to compile regular expressions for 500 secrets took 45 s of CPU.
 */

/** Shorter texts would be found by chance in base64 and hex. */
const ENCODED_BYTES_MIN = 8

/** The characters that may follow, each with the tree behind it. */
type Tree = Map<string, Tree>
/** A key that is no character: a secret ends here. */
const END = ''

/** A character of a text, and the index after it. */
type Decoded = readonly [character: string, end: number]

/** The function puts `replacement` in place of each secret in a text. */
export const replacerOf = (secrets: Iterable<string>, replacement: string): ((text: string) => string) => {
  const [texts, hex]: [Tree, Tree] = [new Map(), new Map()]
  for (const secret of secrets) {
    const bytes = Buffer.from(secret)
    const isLong = bytes.length >= ENCODED_BYTES_MIN
    for (const text of [secret, ...(isLong ? inBase64(bytes) : [])]) add(text, texts)
    if (isLong) add(bytes.toString('hex'), hex)
  }
  const starts = startsOf(texts, hex)
  return (text) => {
    const parts: string[] = []
    let copied = 0
    let [from, to] = [0, 0]
    const replace = () => {
      if (to > from) parts.push(text.slice(copied, from), replacement)
      copied = Math.max(copied, to)
    }
    starts.lastIndex = 0
    while (starts.test(text)) {
      const at = starts.lastIndex - 1
      const end = Math.max(endOf(texts, text, at, decodedAt), endOf(hex, text, at, smallLetterAt))
      if (end > to) {
        // A secret that begins within another one is a part of the same hole.
        if (at >= to) {
          replace()
          from = at
        }
        to = end
      }
    }
    replace()
    return parts.length === 0 ? text : parts.join('') + text.slice(copied)
  }
}

const add = (text: string, tree: Tree): void => {
  let node = tree
  for (const character of text) {
    const next: Tree = node.get(character) ?? new Map()
    node.set(character, next)
    node = next
  }
  node.set(END, node)
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

/** In a form, `+` is a space. In base64, `-` and `_` may take the places of `+` and `/`. */
const STANDS_FOR: Readonly<Record<string, string>> = { '+': ' ', '-': '+', _: '/' }

/** Finds the places at which a secret may begin: by its first two characters, or by the sign of an encoding. */
const startsOf = (texts: Tree, hex: Tree): RegExp => {
  const pairs = [...texts, ...hex].map(([first, next]) => {
    // A character of two code units is followed by its own second one.
    const behind = first.length > 1 ? [first.charAt(1)] : [...next.keys()].flatMap(written)
    return `${oneOf(written(first))}(?=${oneOf(behind)})`
  })
  return new RegExp([oneOf(SIGNS), ...pairs].join('|'), 'g')
}

/** With these, an encoded character begins. */
const SIGNS = ['%', '\\', '&']

/** The code units with which a character may begin in a text. */
const written = (character: string): readonly string[] => {
  const signs = Object.keys(STANDS_FOR).filter((sign) => STANDS_FOR[sign] === character)
  return [character, character.toUpperCase(), ...signs, ...SIGNS].map((one) => one.charAt(0))
}

const oneOf = (units: readonly string[]): string =>
  `[${units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}]`

type CharactersAt = (text: string, at: number) => readonly Decoded[]
/** For each node of the tree, the ends of the ways to read the text up to that node. All nodes in it have the same depth. */
type Reached = Map<Tree, Set<number>>

/** The end of the longest text of the tree that begins at `at`; -1 if none does. */
const endOf = (tree: Tree, text: string, at: number, charactersAt: CharactersAt): number => {
  if (!charactersAt(text, at).some(([character]) => tree.has(character))) return -1
  let end = -1
  for (
    let reached: Reached = new Map([[tree, new Set([at])]]);
    reached.size > 0;
    reached = oneFurther(reached, text, charactersAt)
  )
    for (const [node, places] of reached) if (node.has(END)) end = Math.max(end, ...places)
  return end
}

const oneFurther = (reached: Reached, text: string, charactersAt: CharactersAt): Reached => {
  const next: Reached = new Map()
  for (const [node, places] of reached)
    for (const place of places)
      for (const [character, after] of charactersAt(text, place)) {
        const child = node.get(character)
        if (child !== undefined) next.set(child, (next.get(child) ?? new Set()).add(after))
      }
  return next
}

const smallLetterAt = (text: string, at: number): readonly Decoded[] =>
  at < text.length ? [[text.charAt(at).toLowerCase(), at + 1]] : []

/** What the text at `at` may be: the character that is there, or one that is encoded. */
const decodedAt = (text: string, at: number): readonly Decoded[] => {
  const code = text.codePointAt(at)
  if (code === undefined) return []
  const character = String.fromCodePoint(code)
  const literal: Decoded = [character, at + character.length]
  const other = STANDS_FOR[character]
  if (other !== undefined) return [literal, [other, at + 1]]
  if (character === '%') return [literal, ...percentEncodedAt(text, at, [])]
  if (character === '\\') return [literal, ...escapedAt(text, at)]
  if (character === '&') return [literal, ...entitiesAt(text, at)]
  return [literal]
}

/** Repetitions are bounded, so that a hostile text costs no more than a long one. */
const [REPEATED, BACKSLASHES] = [[0, 1, 2, 3], 7]

/** `%41`, `%2541`, and each byte of a longer character in this way. */
const percentEncodedAt = (text: string, at: number, before: readonly number[]): readonly Decoded[] =>
  REPEATED.flatMap((times): readonly Decoded[] => {
    const sign = `%${'25'.repeat(times)}`
    const end = at + sign.length + 2
    const digits = text.slice(end - 2, end)
    if (!text.startsWith(sign, at) || !/^[\da-f]{2}$/i.test(digits)) return []
    const bytes = [...before, Number.parseInt(digits, 16)]
    const [lead = 0] = bytes
    const length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    return bytes.length < length ? percentEncodedAt(text, end, bytes) : [[Buffer.from(bytes).toString(), end]]
  })

/** `\u0041`, `\"`, `\/` and `\\`, with the backslashes escaped again. */
const escapedAt = (text: string, at: number): readonly Decoded[] => {
  let after = at
  while (text[after] === '\\' && after - at <= BACKSLASHES) after += 1
  const backslashes = Array.from({ length: after - at - 1 }, (_, more): Decoded => ['\\', at + more + 2])
  const next = text[after]
  if (after - at > BACKSLASHES || next === undefined) return backslashes
  if (next === '"' || next === '/') return [...backslashes, [next, after + 1]]
  const unit = unitAt(text, after)
  if (unit === null) return backslashes
  const [first, end] = unit
  const second = /^[\ud800-\udbff]$/.test(first) ? (escapedAt(text, end).at(-1) ?? null) : null
  return [...backslashes, second === null ? unit : [first + second[0], second[1]]]
}

/** The code unit of `u0041`; null if there is none. */
const unitAt = (text: string, at: number): Decoded | null => {
  const digits = text.slice(at + 1, at + 5)
  return text[at] === 'u' && /^[\da-f]{4}$/i.test(digits)
    ? [String.fromCharCode(Number.parseInt(digits, 16)), at + 5]
    : null
}

const NAMES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const ENTITY = /(?:#0{0,6}(?<decimal>\d{1,7})|#[xX]0{0,6}(?<hex>[\da-fA-F]{1,6})|(?<name>[a-z]{2,4}));/y

/** `&#65;`, `&#x41;` and `&quot;`, with the ampersand encoded again. */
const entitiesAt = (text: string, at: number): readonly Decoded[] =>
  REPEATED.flatMap((times): readonly Decoded[] => {
    const sign = `&${'amp;'.repeat(times)}`
    if (!text.startsWith(sign, at)) return []
    ENTITY.lastIndex = at + sign.length
    const { decimal, hex, name } = ENTITY.exec(text)?.groups ?? {}
    if (decimal === undefined && hex === undefined && name === undefined) return []
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    const character = name === undefined ? (code <= 0x10ffff ? String.fromCodePoint(code) : '') : NAMES[name]
    return character === undefined || character === '' ? [] : [[character, ENTITY.lastIndex]]
  })
