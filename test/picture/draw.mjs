/** Draws the screen of a terminal as an SVG with real text. It has its own background, and follows the reader's light or dark scheme. */

const COLUMN_WIDTH = 8.4
const LINE_HEIGHT = 20
const PADDING = 18
const BAR_HEIGHT = 34
const FONT_SIZE = 14

/** SGR codes and the class that has their colour. */
const CLASSES = { 1: 'bold', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan', 90: 'gray' }

const STYLE = `
    text { font: ${FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace; fill: #24292f; white-space: pre }
    .window { fill: #f6f8fa; stroke: #d0d7de }
    .button { fill: #d0d7de }
    .bold { font-weight: 600 } .red { fill: #b42318 } .green { fill: #116329 } .yellow { fill: #7d4e00 }
    .cyan { fill: #0b5c75 } .gray, .prompt { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .window { fill: #0d1117; stroke: #30363d }
      .button { fill: #30363d }
      .red { fill: #ff7b72 } .green { fill: #56d364 } .yellow { fill: #e3b341 }
      .cyan { fill: #76e3ea } .gray, .prompt { fill: #9198a1 }
    }`

/** `lines` are what `screenOf` returns for the output of `command`. */
export const draw = (command, lines) => {
  const prompt = { text: '$ ', class: 'prompt' }
  const all = [[prompt, { text: command, class: 'bold' }], ...lines.map(withClasses)]
  const columns = Math.max(...all.map(lengthOf))
  const width = Math.ceil(columns * COLUMN_WIDTH + 2 * PADDING)
  const height = BAR_HEIGHT + all.length * LINE_HEIGHT + PADDING
  const last = lines.at(-1)?.reduce((text, span) => text + span.text, '')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
  <title id="title">${escaped(`${command} in a terminal. Its last line: ${last}`)}</title>
  <style>${STYLE}
  </style>
  <rect class="window" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${[0, 1, 2].map((place) => `  <circle class="button" cx="${PADDING + 4 + place * 20}" cy="19" r="6"/>`).join('\n')}
${all.flatMap(drawLine).join('\n')}
</svg>
`
}

const withClasses = (spans) =>
  spans.map(({ text, style }) => ({
    text,
    class: style.flatMap((code) => CLASSES[code] ?? []).join(' '),
  }))

const lengthOf = (spans) => spans.reduce((length, { text }) => length + text.length, 0)

/** A fixed length keeps the columns in place in any font. */
const drawLine = (spans, place) => {
  const length = lengthOf(spans)
  if (length === 0) return []
  const y = BAR_HEIGHT + (place + 1) * LINE_HEIGHT - 5
  const texts = spans.map((span) =>
    span.class === '' ? escaped(span.text) : `<tspan class="${span.class}">${escaped(span.text)}</tspan>`,
  )
  return [
    `  <text x="${PADDING}" y="${y}" xml:space="preserve" textLength="${(length * COLUMN_WIDTH).toFixed(1)}">${texts.join('')}</text>`,
  ]
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
