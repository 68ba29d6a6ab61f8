/** The text of `status --survey`. */
import stringWidth from 'string-width'
import { counted, cutInMiddle, humanCount } from '../../base/human.js'
import { onOneLine, printable } from '../../model/data-problem-names.js'
import { type Colour, painted, type Terminal, textTable, wrapped } from '../text/text-table.js'
import { type Explained, withAge } from './explain.js'

export const renderSurvey = (survey: Explained, terminal: Terminal): string => {
  const { account, surveyId, title, why } = survey
  const name = `survey ${surveyId} of ${account}`
  const lines =
    why.length === 0
      ? [{ text: 'it is as new as the last run', colour: undefined }]
      : why.map(({ cause, text }) => ({ text, colour: COLOURS[cause] }))
  return [
    ...headOf(name, title, terminal.width),
    ...lines.map(({ text, colour }) => {
      const line = wrapped(`- ${text}`, terminal.width)
      return terminal.colour && colour !== undefined ? painted(line, colour) : line
    }),
    '',
    ...factsOf(survey).map(([label, text]) =>
      wrapped(`  ${label.padEnd(LABEL_WIDTH)}${text}`, terminal.width, ' '.repeat(LABEL_WIDTH + 2)),
    ),
    ...daysOf(survey),
  ].join('\n')
}

/** A title without enough room beside the name has a line of its own. */
const headOf = (name: string, title: string | null, width: number): readonly string[] => {
  if (title === null) return [name]
  const room = width - name.length - ': '.length
  return room < TITLE_WIDTH_MIN
    ? [`${name}:`, `  ${cutInMiddle(printable(title), width - 2, stringWidth)}`]
    : [`${name}: ${cutInMiddle(printable(title), room, stringWidth)}`]
}

const TITLE_WIDTH_MIN = 24

const COLOURS: Partial<Record<Explained['why'][number]['cause'], Colour>> = {
  no_run: 'yellow',
  missing: 'yellow',
  left_out: 'yellow',
  sources_left_out: 'yellow',
  excluded: 'yellow',
  failed: 'red',
  rejected: 'red',
  queued: 'yellow',
  not_queued: 'red',
}

const LABEL_WIDTH = 15

const factsOf = (survey: Explained): readonly (readonly [string, string])[] => {
  const { status, pendingStatus, now, listedAt, refreshedAt, next, queue, lastError, sources } = survey
  const waits = pendingStatus === null ? '' : `; ${onOneLine(pendingStatus)} waits for the next reading`
  const list =
    sources.listedAt === null ? 'list not read completely' : `list read ${withAge(sources.listedAt, now)}`
  return [
    ['status', `${status === null ? 'unknown' : onOneLine(status)}${waits}`],
    ['last read', refreshedAt === null ? 'never' : withAge(refreshedAt, now)],
    ...(listedAt === null ? [] : [['last listed', withAge(listedAt, now)] as const]),
    ['next reading', next.text],
    [
      'queue',
      queue === null ? 'not waiting' : `waiting since ${withAge(queue.enqueuedAt, now)}: ${queue.reason}`,
    ],
    ...(queue === null || queue.refusedAt === null
      ? []
      : [
          [
            'refused',
            `${queue.refusals === 1 ? 'once' : `${humanCount(queue.refusals)} times in a row`}, last ${withAge(queue.refusedAt, now)}`,
          ] as const,
        ]),
    ...(lastError === null ? [] : [['last error', onOneLine(lastError)] as const]),
    ...(sources.count === 0 && sources.listedAt === null
      ? []
      : [['sources', `${counted(sources.count, 'source')}, ${list}`] as const]),
    ...survey.rejections.map(({ endpoint, problem, sources: of, rows, replayed, last_at: at }) => {
      const what = `${humanCount(rows)} of ${endpoint}${of === 0 ? '' : ` (${counted(of, 'source')})`}`
      const again = replayed === 0 ? '' : `, ${humanCount(replayed)} replayed`
      return ['rejected rows', `${what}, last ${withAge(at, now)}${again}: ${onOneLine(problem)}`] as const
    }),
  ]
}

const daysOf = ({ days }: Explained): readonly string[] => {
  const rows = days.map(({ day, interviews_count: count, gained, completion_rate: rate }) => [
    day,
    count === null ? '-' : humanCount(count),
    gained === null ? '-' : gained > 0 ? `+${humanCount(gained)}` : humanCount(gained),
    rate === null ? '-' : `${Math.round(100 * rate)} %`,
  ])
  const [[first] = [], [, complete, , rate] = []] = [rows[0], rows.at(-1)]
  if (first === undefined) return []
  if (rows.length > 1 && days.slice(1).every(({ gained }) => gained === 0))
    return [
      `  ${'last days'.padEnd(LABEL_WIDTH)}nothing gained since ${first}: ${complete} complete, ${rate}`,
    ]
  return ['', textTable([['last seven days', 'complete', 'gained', 'completion'], ...rows], { indent: '  ' })]
}
