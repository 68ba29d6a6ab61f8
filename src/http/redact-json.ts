/**
 * Removes secrets from the strings of a JSON answer, names included: a server that echoes the request must not put the token into a
 * table or into quarantine. Numbers stay as they are.
 */

/** `text` is valid JSON, and so is the result. `redact` gets each string unescaped. */
export const redactJson = (text: string, redact: (text: string) => string): string => {
  // If the raw text has no secret, only a string with escapes can hold one.
  const openAfter = redact(text) === text ? openOfEscaped : openOfAny
  const parts: string[] = []
  let copied = 0
  for (let open = openAfter(text, 0); open !== -1; ) {
    const end = endOfString(text, open)
    const literal = text.slice(open, end)
    const safe = redactString(literal, redact)
    if (safe !== literal) {
      parts.push(text.slice(copied, open), safe)
      copied = end
    }
    open = openAfter(text, end)
  }
  return parts.length === 0 ? text : `${parts.join('')}${text.slice(copied)}`
}

/** The index where the next string opens, from `at` on; -1 without one. `at` is outside of strings. */
const openOfAny = (text: string, at: number): number => text.indexOf('"', at)

/**
 * The index where the next string with a backslash opens; -1 without one. Before the first backslash every quote opens or closes a string.
 */
const openOfEscaped = (text: string, at: number): number => {
  const backslash = text.indexOf('\\', at)
  return backslash === -1 ? -1 : text.lastIndexOf('"', backslash)
}

/** `literal` includes its quotes. Its value differs from its text only if it has a backslash. */
const redactString = (literal: string, redact: (text: string) => string): string => {
  const text = literal.includes('\\') ? String(JSON.parse(literal)) : literal.slice(1, -1)
  const safe = redact(text)
  return safe === text ? literal : JSON.stringify(safe)
}

/** The index after the string that opens at `start`. */
export const endOfString = (text: string, start: number): number => {
  let quote = text.indexOf('"', start + 1)
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return (quote === -1 ? text.length : quote) + 1
}

/** Whether the character at `at` is escaped: an odd number of backslashes stands before it. */
const isEscaped = (text: string, at: number): boolean => {
  let before = at - 1
  while (text[before] === '\\') before--
  return (at - before) % 2 === 0
}
