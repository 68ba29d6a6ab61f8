/** The figures of a month: as a table, as sentences, and as one line for scripts. */
import type { Night } from './month.js'

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const mean = (values: readonly number[]): number => sum(values) / Math.max(1, values.length)
const round = (value: number, digits: number): number => Number(value.toFixed(digits))

/** The nights after the first, up to the one before the closed surveys of the first night are due together, and from then on. */
const CALM_UNTIL = 30

interface Range {
  readonly name: string
  readonly nights: readonly Night[]
}

const rangeOf = (nights: readonly Night[], from: number, to: number): Range => {
  const some = nights.slice(from - 1, to)
  const last = from + some.length - 1
  return { name: some.length < 2 ? String(from) : `${from} to ${last}`, nights: some }
}

const rangesOf = (nights: readonly Night[]): Range[] =>
  [rangeOf(nights, 2, CALM_UNTIL), rangeOf(nights, CALM_UNTIL + 1, nights.length)].filter(
    (range) => range.nights.length > 0,
  )

/** The first night, the weeks after it, and the nights around the herd alone. */
const groupsOf = (nights: readonly Night[]): Range[] => {
  const starts = [1, 2, 9, 16, 23, CALM_UNTIL, CALM_UNTIL + 1]
  for (let next = CALM_UNTIL + 2; next <= nights.length; next += 7) starts.push(next)
  return starts
    .map((from, place) => rangeOf(nights, from, (starts[place + 1] ?? nights.length + 1) - 1))
    .filter((range) => range.nights.length > 0)
}

const COLUMNS: readonly (readonly [name: string, of: (night: Night) => number, fold: typeof sum])[] = [
  ['Active surveys', ({ active }) => active, mean],
  ['All of every survey', ({ bounds }) => bounds.everything, mean],
  ['All of every active survey', ({ bounds }) => bounds.everythingActive, mean],
  ['**`fieldwork-sync`**', ({ report }) => report.requests, mean],
  ['Largest night', ({ report }) => report.requests, (values) => Math.max(...values)],
  ["Today's promises, in perfect order", ({ inOrder }) => inOrder, mean],
  ['Least possible, if all changes were known', ({ bounds }) => bounds.least, mean],
  ['The same, by a reader who calculates', ({ bounds }) => bounds.calculated, mean],
]

export const monthTable = (nights: readonly Night[]): string =>
  [
    `| Nights | ${COLUMNS.map(([name]) => name).join(' | ')} |`,
    `| ---: |${' ---: |'.repeat(COLUMNS.length)}`,
    ...groupsOf(nights).map(({ name, nights: some }) => {
      const cells = COLUMNS.map(([, of, fold]) => Math.round(fold(some.map(of))).toLocaleString('en'))
      return `| ${[name, ...cells].join(' | ')} |`
    }),
  ].join('\n')

interface Figures {
  /** Requests a night on average, of the largest night, and of other readers. */
  readonly requests: number
  readonly largest: number
  readonly least: number
  readonly timesLeast: number
  readonly calculated: number
  readonly inOrder: number
  /** Surveys with sources behind after a night, on average and at most. */
  readonly sourcesBehind: number
  readonly sourcesBehindMost: number
  /** Surveys with texts behind after a night, on average and at most. */
  readonly textsBehind: number
  readonly textsBehindMost: number
  /** Survey-nights with counts behind, and those of closed surveys. */
  readonly countsBehind: number
  readonly countsBehindOfClosed: number
  /** The most nights for which a survey was behind. */
  readonly oldest: number
  /** Hours for which the sources of an active survey are behind, a night. */
  readonly hoursBehind: number
  /** Error of the estimate, in percent of the requests: on average, at most, and with its sign. */
  readonly estimateError: number
  readonly estimateErrorMost: number
  readonly estimateBias: number
  /** The most requests in any 60 s. */
  readonly mostIn60s: number
}

const figuresOf = (nights: readonly Night[]): Figures => {
  const all = (of: (night: Night) => number): number[] => nights.map(of)
  const requests = all(({ report }) => report.requests)
  const least = all(({ bounds }) => bounds.least)
  const errors = nights.flatMap(({ report }) =>
    report.requestsEstimated === null
      ? []
      : [(100 * (report.requestsEstimated - report.requests)) / report.requests],
  )
  const sizes = errors.map(Math.abs)
  const sources = all(({ behind }) => behind.sources)
  const texts = all(({ behind }) => behind.texts)
  const active = sum(all((night) => night.active))
  return {
    requests: round(mean(requests), 1),
    largest: Math.max(...requests),
    least: round(mean(least), 1),
    timesLeast: round(sum(requests) / sum(least), 3),
    calculated: round(mean(all(({ bounds }) => bounds.calculated)), 1),
    inOrder: round(mean(all(({ inOrder }) => inOrder)), 1),
    sourcesBehind: round(mean(sources), 2),
    sourcesBehindMost: Math.max(...sources),
    textsBehind: round(mean(texts), 2),
    textsBehindMost: Math.max(...texts),
    countsBehind: sum(all(({ behind }) => behind.counts)),
    countsBehindOfClosed: sum(all(({ behind }) => behind.countsOfClosed)),
    oldest: Math.max(...all(({ behind }) => behind.nights)),
    hoursBehind: round((24 * sum(all(({ behind }) => behind.sourcesOfActive))) / Math.max(1, active), 2),
    estimateError: round(mean(sizes), 1),
    estimateErrorMost: round(Math.max(0, ...sizes), 1),
    estimateBias: round(mean(errors), 1),
    mostIn60s: Math.max(...all(({ mostInAWindow }) => mostInAWindow)),
  }
}

export const remarks = (nights: readonly Night[]): string => {
  const [first, ...later] = nights
  const repeated = (kind: keyof Night['repeated']) =>
    Math.round(mean(later.map((night) => night.repeated[kind])))
  return [
    ...rangesOf(nights).flatMap(sentences),
    `unchanged answers per later night: ${repeated('progress')} progress of a survey, ${repeated('progressBySource')} progress of a source, ` +
      `${repeated('sources')} lists of sources, ${repeated('lists')} pages of surveys`,
    `duration at the cap: ${minutes(first?.tookMs ?? 0)} in the first night, ${minutes(mean(later.map(({ tookMs }) => tookMs)))} in a later one`,
    `most requests in any 60 s: ${Math.max(...nights.map(({ mostInAWindow }) => mostInAWindow))}`,
  ].join('\n')
}

const sentences = ({ name, nights }: Range): string[] => {
  const f = figuresOf(nights)
  const times = (requests: number) => `${requests} (${(requests / f.least).toFixed(2)} times the least)`
  return [
    `nights ${name}`,
    `  requests: ${f.requests} a night, ${f.timesLeast.toFixed(3)} times the least; ${f.largest} in the largest`,
    `  other readers: ${f.least} if all changes were known, ${times(f.calculated)} for one who calculates, ${times(f.inOrder)} for today's promises`,
    `  surveys with sources behind: ${f.sourcesBehind} on average, ${f.sourcesBehindMost} at most; ${f.hoursBehind} h for an active survey and night`,
    `  surveys with texts behind: ${f.textsBehind} on average, ${f.textsBehindMost} at most`,
    `  survey-nights with counts behind: ${f.countsBehind}, of closed surveys ${f.countsBehindOfClosed}`,
    `  behind for ${f.oldest} nights at most`,
    `  error of the estimate: ${f.estimateError} % on average, ${f.estimateErrorMost} % at most, ${f.estimateBias} % with its sign`,
  ]
}

const minutes = (durationMs: number): string => `${(durationMs / 60_000).toFixed(1)} min`

/** For scripts: the figures of each range of nights, as one line of JSON. */
export const figuresLine = (nights: readonly Night[], run: Readonly<Record<string, unknown>>): string => {
  const ranges = Object.fromEntries(
    rangesOf(nights).map(({ name, nights: some }) => [name.replace(' to ', '-'), figuresOf(some)]),
  )
  const each = nights.map(({ report }) => report.requests)
  return `figures ${JSON.stringify({ ...run, nights: nights.length, ranges, requests: each })}`
}
