/** HTML as a tagged template: what is put in is text and is escaped, unless it is HTML made the same way. */

export interface Html {
  readonly html: string
}

type Inset = string | number | Html | readonly Html[]

export const html = (texts: TemplateStringsArray, ...insets: readonly Inset[]): Html => ({
  html: texts.reduce((before, text, place) => `${before}${insetText(insets[place - 1] ?? '')}${text}`),
})

/** Text with `code` in backticks. */
export const prose = (text: string): Html => {
  const parts = text
    .split('`')
    .map((part, place) => (place % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
  return html`${parts}`
}

/** All of them, one after the other, with `separator` between. */
export const joined = (parts: readonly Html[], separator: string): Html =>
  html`${parts.map((part, place) => (place === 0 ? part : html`${separator}${part}`))}`

const insetText = (inset: Inset): string => {
  if (typeof inset === 'object') return 'html' in inset ? inset.html : inset.map((part) => part.html).join('')
  return String(inset).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
