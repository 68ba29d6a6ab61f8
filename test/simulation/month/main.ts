/**
 * `npm run bench:requests`: a month of nights of an organization with 1,000 surveys, on virtual time. It prints the requests of
 * a night, beside those of a reader that reads everything every night, and of one that knows beforehand what has changed, as the
 * table of docs/reference/performance.md. `--nights` (default 30) and `--seed` (default 42) change the month.
 */
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { takeOver } from '../operations.js'
import { type Night, simulate } from './month.js'

const monthTable = (nights: readonly Night[]): string =>
  [
    '| Nights | Active surveys | All of every survey | All of every active survey | **`fieldwork-sync`** | Least possible |',
    '| ---: | ---: | ---: | ---: | ---: | ---: |',
    ...groupsOf(nights).map(
      ({ name, nights: some }) => `| ${[name, ...columnsOf(some, mean)].join(' | ')} |`,
    ),
    `| all ${nights.length} | | ${columnsOf(nights, sum).slice(1).join(' | ')} |`,
  ].join('\n')

/** Further results, one per line. */
const remarks = (nights: readonly Night[]): string => {
  const [first, ...later] = nights
  const errors = later.flatMap(({ report: { requests, requestsEstimated } }) =>
    requestsEstimated === null ? [] : [(100 * Math.abs(requests - requestsEstimated)) / requests],
  )
  const behind = (kind: keyof Night['behind']) => later.map((night) => night.behind[kind])
  const repeated = (kind: keyof Night['repeated']) =>
    Math.round(mean(later.map((night) => night.repeated[kind])))
  return [
    `unchanged answers per later night: ${repeated('progress')} progress of a survey, ${repeated('progressBySource')} progress of a source, ` +
      `${repeated('sources')} lists of sources, ${repeated('lists')} pages of surveys`,
    `duration at the cap: ${minutes(first?.tookMs ?? 0)} in the first night, ${minutes(mean(later.map(({ tookMs }) => tookMs)))} in a later one`,
    `most requests in any 60 s: ${Math.max(...nights.map(({ mostInAWindow }) => mostInAWindow))}`,
    `error of the estimate: ${mean(errors).toFixed(1)} % of a night's requests on average, ${Math.max(...errors).toFixed(1)} % at most`,
    `surveys that were behind the API after a night, sum of all nights: ${sum(behind('surveys'))} in their row, ` +
      `${sum(behind('progress'))} in their progress, ${sum(behind('sources'))} in their sources (at most ${Math.max(...behind('sources'))} in a night)`,
  ].join('\n')
}

type Numbers = (values: readonly number[]) => number

const sum: Numbers = (values) => values.reduce((total, value) => total + value, 0)
const mean: Numbers = (values) => sum(values) / Math.max(1, values.length)
const minutes = (durationMs: number): string => `${(durationMs / 60_000).toFixed(1)} min`

const columnsOf = (nights: readonly Night[], of: Numbers): string[] =>
  [
    nights.map(({ active }) => active),
    nights.map(({ bounds }) => bounds.everything),
    nights.map(({ bounds }) => bounds.everythingActive),
    nights.map(({ report }) => report.requests),
    nights.map(({ bounds }) => bounds.least),
  ].map((values) => Math.round(of(values)).toLocaleString('en'))

/** The first night, and the weeks after it. */
const groupsOf = ([first, ...later]: readonly Night[]) => {
  const weeks = Array.from({ length: Math.ceil(later.length / 7) }, (_, week) => {
    const some = later.slice(week * 7, week * 7 + 7)
    const from = week * 7 + 2
    return { name: some.length === 1 ? String(from) : `${from} to ${from + some.length - 1}`, nights: some }
  })
  return [...(first === undefined ? [] : [{ name: '1', nights: [first] }]), ...weeks]
}

const { values } = parseArgs({
  options: { nights: { type: 'string', default: '30' }, seed: { type: 'string', default: '42' } },
})
const [count, seed] = [Number(values.nights), Number(values.seed)]
if (!Number.isInteger(count) || count < 1 || !Number.isInteger(seed) || seed < 0)
  throw new Error('--nights must be a whole number from 1 on, and --seed a whole number from 0 on')
using taken = await takeOver()
const directory = fs.mkdtempSync(join(tmpdir(), 'fieldwork-sync-month-'))
try {
  const nights = await simulate(taken, directory, count, seed)
  process.stdout.write(`${monthTable(nights)}\n\n${remarks(nights)}\n`)
} finally {
  fs.rmSync(directory, { recursive: true, force: true })
}
