/** API document, "List surveys", `updated_since`, on which the cursor of the sync relies. */
import {
  formatMoment,
  integerOf,
  type JsonObject,
  type Moment,
  parseMoment,
  stepOf,
  textOf,
} from '../fields.js'
import { compare, type Evidence } from '../read/evidence.js'
import { type ListReading, paging, progressPath, type Reader, sameIds, surveysSeen } from '../read/reader.js'
import { judgeEach, type Rule, rulesOf } from '../rule.js'
import { fail, PASS, Unseen } from '../verdict.js'

const rule = rulesOf('List surveys')
const PARAMETER = 'updated_since'
export const FAR_FUTURE = '2999-01-01T00:00:00Z'

interface Updated {
  readonly id: number
  readonly at: Moment
  /** The moment as the row has it. */
  readonly text: string
}

const updatedOf = (row: JsonObject): readonly Updated[] => {
  const [id, at, text] = [integerOf(row.id), parseMoment(row.updated_at), textOf(row.updated_at)]
  return id === null || at === null || text === null ? [] : [{ id, at, text }]
}

/** When the rows were modified, latest first. */
const latestFirst = (rows: readonly JsonObject[]): readonly Updated[] =>
  rows.flatMap(updatedOf).sort((a, b) => Number(b.at.micros - a.at.micros))

const middleOf = (all: readonly Updated[]): Updated | undefined => all[Math.floor(all.length / 2)]

/** The surveys seen, the last modified first. */
const lastUpdated = async ({ head, reader }: Evidence): Promise<readonly [Updated, ...Updated[]]> => {
  await head()
  const [newest, ...others] = latestFirst(surveysSeen(reader))
  if (newest === undefined) throw new Unseen('no survey with an updated_at has been seen')
  return [newest, ...others]
}

const since = (reader: Reader, text: string): Promise<ListReading> => reader.surveys([[PARAMETER, text]])

const totalText = (reading: ListReading): string => `total_count ${paging(reading, 'total_count')}`

/** The list since the last modification is short; longer than this, the filter does not work. */
const PAGES_MAX = 3

/** A survey in the list of surveys modified since `text`; null if none of the first pages has it. */
const find = async (reader: Reader, text: string, id: number): Promise<Updated | null> => {
  let reading = await since(reader, text)
  for (let page = 2; ; page++) {
    const row = reading.rows.find((row) => row.id === id)
    if (row !== undefined) return updatedOf(row)[0] ?? null
    if (page > PAGES_MAX || page > paging(reading, 'total_pages')) return null
    reading = await reader.surveys([
      [PARAMETER, text],
      ['page', String(page)],
    ])
  }
}

const OFFSETS = [
  ['+05:30', 330n],
  ['-08:00', -480n],
] as const

export const UPDATED_SINCE_RULES: readonly Rule[] = [
  rule(
    'updated-since.only',
    'updated_since shows no survey that was last modified before the date',
    async (evidence) => {
      const { reader } = evidence
      const all = await lastUpdated(evidence)
      await since(reader, (middleOf(all) ?? all[0]).text)
      await since(reader, FAR_FUTURE)
      return judgeEach(
        reader.seen.lists,
        ({ request, query, rows }) => {
          const bound = parseMoment(query.find(([name]) => name === PARAMETER)?.[1])
          if (bound === null) return null
          const old = rows.flatMap(updatedOf).filter(({ at }) => at.micros < bound.micros)
          const [first] = old
          if (first === undefined) return PASS
          const got = `${old.length} of ${rows.length} rows are older, such as ${reader.show(first.text)}`
          return fail(request, `rows with updated_at from ${formatMoment(bound.micros)} on`, got)
        },
        'no request with updated_since was answered',
      )
    },
  ),
  rule(
    'updated-since.complete',
    'updated_since leaves out no survey that was modified after the date',
    async (evidence) => {
      const { reader } = evidence
      const [newest, ...others] = await lastUpdated(evidence)
      const second = others.find(({ at }) => at.micros < newest.at.micros)
      if (second === undefined) throw new Unseen('all surveys seen were modified at the same moment')
      if ((await find(reader, second.text, newest.id)) !== null) return PASS
      // The survey may have vanished since it was seen.
      const control = await reader.raw(progressPath(newest.id))
      if (control.status !== 200) throw new Unseen('the survey that was modified last has disappeared')
      const expected = `survey ${newest.id}, modified at ${newest.text}`
      return fail(`GET …/surveys?${PARAMETER}=${second.text}`, expected, 'the survey is missing')
    },
  ),
  rule('updated-since.inclusive', 'updated_since includes the date itself', async (evidence) => {
    const { reader } = evidence
    const [newest] = await lastUpdated(evidence)
    if ((await find(reader, newest.text, newest.id)) !== null) return PASS
    const before = formatMoment(newest.at.micros - 1_000_000n)
    if ((await find(reader, before, newest.id)) === null)
      throw new Unseen('with a date one second earlier the survey is missing too: see updated-since.complete')
    if ((await find(reader, newest.text, newest.id)) !== null) return PASS
    const expected = `survey ${newest.id}, modified at that very moment`
    const got = `the survey is in the list only with ${before}`
    return fail(`GET …/surveys?${PARAMETER}=${newest.text}`, expected, got)
  }),
  rule(
    'updated-since.step-after',
    'updated_since leaves out a survey that was modified just before the date',
    async (evidence) => {
      const [newest] = await lastUpdated(evidence)
      const after = formatMoment(newest.at.micros + stepOf(newest.at))
      const listed = await find(evidence.reader, after, newest.id)
      if (listed === null || listed.at.micros > newest.at.micros) return PASS
      const expected = `not survey ${newest.id}, modified at ${newest.text}`
      return fail(`GET …/surveys?${PARAMETER}=${after}`, expected, 'the survey is in the list')
    },
  ),
  rule(
    'updated-since.offsets',
    'updated_since means the same moment with every time-zone offset',
    async (evidence) => {
      const { reader } = evidence
      const all = await lastUpdated(evidence)
      const { micros } = (all[Math.min(3, all.length - 1)] ?? all[0]).at
      for (const [offset, minutesEast] of OFFSETS) {
        const verdict = await compare({
          readOne: () => since(reader, formatMoment(micros)),
          readOther: () => since(reader, formatMoment(micros, offset, minutesEast)),
          isSame: sameIds,
          differ: (a, b) => fail(b.request, `the rows of ${a.request}, ${totalText(a)}`, totalText(b)),
        })
        if (verdict.verdict === 'fail') return verdict
      }
      return PASS
    },
  ),
  rule(
    'surveys.filters-combined',
    'status and updated_since together keep only surveys that match both',
    async (evidence) => {
      const { reader, byStatus } = evidence
      const all = await lastUpdated(evidence)
      const { status, reading: ofStatus } = (await byStatus()).one
      const bound = middleOf(latestFirst(ofStatus.rows))
      if (bound === undefined || all.length < 2) throw new Unseen('there are too few surveys of one status')
      const both = [['status', status] as const, [PARAMETER, bound.text] as const]
      const { request, rows } = await reader.surveys(both)
      const odd = rows.find(
        (row) => row.status !== status || updatedOf(row).some(({ at }) => at.micros < bound.at.micros),
      )
      if (odd === undefined) return PASS
      const got = `a row with status ${reader.show(odd.status)}, updated_at ${reader.show(odd.updated_at)}`
      return fail(request, `status ${status} and updated_at from ${bound.text} on`, got)
    },
  ),
]
