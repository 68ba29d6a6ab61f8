/** The text of `--help`: of the whole command line, and of one command. */
import { EXITS } from '../base/errors.js'
import type { Command } from './context.js'
import { COMMON_FLAGS, type Flag } from './flags.js'

/** Wider terminals get no longer lines. */
const COLUMNS_MAX = 110

export const helpOfAll = (commands: readonly Command[], columns: number | undefined): string =>
  pageOf(columns, [
    ['fieldwork-sync <command>'],
    [
      'Syncs surveys, sample sources and fieldwork progress from the API into DuckDB and Parquet, within its request cap.',
    ],
    ['Commands:', ...commands.map(({ name, describe }) => [`  fieldwork-sync ${name}`, describe] as const)],
    ['Options:', ...Object.entries(COMMON_FLAGS).map(flagLine)],
    ['Exit codes:', ...Object.entries(EXITS).map(([code, { meaning }]) => [`  ${code}`, meaning] as const)],
  ])

export const helpOf = ({ name, describe, flags }: Command, columns: number | undefined): string =>
  pageOf(columns, [
    [`fieldwork-sync ${name}`],
    [describe],
    ['Options:', ...Object.entries({ ...COMMON_FLAGS, ...flags }).map(flagLine)],
  ])

const flagLine = ([name, flag]: readonly [string, Flag]): Line => {
  const details = flag.type === 'boolean' ? [] : ['text']
  if (flag.default !== undefined) details.push(`default: ${flag.default}`)
  const brackets = details.length === 0 ? '' : ` [${details.join(', ')}]`
  return [`  ${name === 'help' ? '-h,' : '   '} --${name}`, `${flag.describe}${brackets}`]
}

/** A paragraph, or a term with its meaning in a second column. */
type Line = string | readonly [term: string, meaning: string]

/** Sections with an empty line between them. */
const pageOf = (columns = COLUMNS_MAX, sections: readonly (readonly Line[])[]): string => {
  const width = Math.min(COLUMNS_MAX, columns)
  return sections
    .map((lines) => {
      const termWidth = Math.max(0, ...lines.map((line) => (typeof line === 'string' ? 0 : line[0].length)))
      return lines
        .map((line) =>
          typeof line === 'string'
            ? wrapped(line, width).join('\n')
            : `${line[0].padEnd(termWidth)}  ${wrapped(line[1], width - termWidth - 2).join(`\n${' '.repeat(termWidth + 2)}`)}`,
        )
        .join('\n')
    })
    .join('\n\n')
    .concat('\n')
}

/** The lines of a text. A word that is longer than a line gets a line of its own. */
const wrapped = (text: string, width: number): readonly string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
