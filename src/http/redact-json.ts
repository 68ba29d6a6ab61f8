/**
 * Removes secrets from the strings of a JSON answer, names included: a server that echoes the request must not put the token
 * into a table or into quarantine. Numbers stay as they are.
 */

/** `text` is valid JSON, and so is the result. `redact` gets each string unescaped. */
export const redactJson = (text: string, redact: (text: string) => string): string => {
  if (!text.includes('\\') && redact(text) === text) return text
  const parts: string[] = []
  let copied = 0
  for (let open = text.indexOf('"'); open !== -1; ) {
    const end = endOfString(text, open)
    const literal = text.slice(open, end)
    const safe = redactString(literal, redact)
    if (safe !== literal) {
      parts.push(text.slice(copied, open), safe)
      copied = end
    }
    open = text.indexOf('"', end)
  }
  return parts.length === 0 ? text : `${parts.join('')}${text.slice(copied)}`
}

/** `literal` includes its quotes. Only with a backslash its value differs from its text. */
const redactString = (literal: string, redact: (text: string) => string): string => {
  const text = literal.includes('\\') ? String(JSON.parse(literal)) : literal.slice(1, -1)
  const safe = redact(text)
  return safe === text ? literal : JSON.stringify(safe)
}

/** The index after the string that opens at `start`. */
export const endOfString = (text: string, start: number): number => {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
