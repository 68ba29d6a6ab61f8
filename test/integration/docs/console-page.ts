/** A page with console sessions, as its parts: files to save, and commands with the output that the page shows. */

export interface Command {
  readonly kind: 'command'
  readonly line: string
  /** The lines that the page shows below the command. */
  readonly shown: readonly string[]
  /** An HTML comment before the block says how to run its first command, such as `first terminal`. */
  readonly instruction: string | null
}

interface SavedFile {
  readonly kind: 'file'
  readonly name: string
  readonly text: string
}

interface Prose {
  readonly kind: 'prose'
}

/** `source` is the text of the page. A command has the lines of the command and its output. */
export type Part = { readonly source: string } & (Command | SavedFile | Prose)

const INSTRUCTION = /^<!-- (.+) -->$/
const SAVE_AS = /[Ss]ave this as\s+`([\w./-]+)`:\n\n$/

/** Splits the page so that the sources of all parts, one after the other, are the page again. */
export const partsOf = (page: string): readonly Part[] => {
  const parts: Part[] = []
  let prose = ''
  for (const piece of page.split(/^(```\w+\n[\s\S]*?^```\n)/m)) {
    const [, language = '', body = ''] = /^```(\w+)\n([\s\S]*?)^```\n$/m.exec(piece) ?? []
    if (language === 'console') {
      const instruction = INSTRUCTION.exec(prose.trimEnd().split('\n').at(-1) ?? '')?.[1] ?? null
      parts.push({ kind: 'prose', source: '```console\n' }, ...commandsOf(body, instruction))
      parts.push({ kind: 'prose', source: '```\n' })
    } else if (language !== '' && SAVE_AS.test(prose)) {
      parts.push({ kind: 'file', name: SAVE_AS.exec(prose)?.[1] ?? '', text: body, source: piece })
    } else parts.push({ kind: 'prose', source: piece })
    prose = piece
  }
  return parts
}

const commandsOf = (body: string, instruction: string | null): readonly Part[] =>
  body.split(/^(?=\$ )/m).map((source, place) => {
    const [line = '', ...shown] = source.trimEnd().split('\n')
    return {
      kind: 'command',
      source,
      line: line.slice(2),
      shown,
      instruction: place === 0 ? instruction : null,
    }
  })

export const sourceOf = (line: string, shown: readonly string[]): string =>
  [`$ ${line}`, ...shown].map((text) => `${text}\n`).join('')

/** On a page, this line stands for any number of lines. */
const ELLIPSIS = '…'

/** Replaces what differs from run to run: times, durations, sizes and run ids. */
const normalized = (line: string): string =>
  line
    .replace(/\[\d\d:\d\d:\d\d\]/g, '[time]')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z/g, 'instant')
    .replace(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'run-id')
    .replace(/("\w+Ms":)\d+/g, '$1duration')
    .replace(/\b\d+ (?:ms|s|min)\b( \d+ (?:ms|s)\b)?/g, 'duration')
    .replace(/\b\d+(\.\d+)? (?:B|KiB|MiB)(?!\w)/g, 'size')
    // The width of a column follows from its times.
    .replace(/ {2,}/g, '  ')

/** Whether a page shows this output. */
export const isShown = (shown: readonly string[], actual: readonly string[]): boolean => {
  const [first, ...rest] = shown
  if (first === undefined) return actual.length === 0
  if (first === ELLIPSIS)
    return actual.some((_, place) => isShown(rest, actual.slice(place))) || isShown(rest, [])
  return (
    actual[0] !== undefined && normalized(first) === normalized(actual[0]) && isShown(rest, actual.slice(1))
  )
}
