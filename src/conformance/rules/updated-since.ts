/**
 * API document, "List surveys", `updated_since`: the records modified since this date, the date itself included. The
 * sync's cursor stands on this rule.
 */
import { formatMoment, formatWithOffset, type Moment, parseMoment, stepOf } from '../instant.js'
import { integerOf, type JsonObject, textOf } from '../json.js'
import { compare, type Evidence, MOVED } from '../read/evidence.js'
import { type ListReading, paging, progressPath, type Reader, sameIds, surveysSeen } from '../read/reader.js'
import { Unseen } from '../unseen.js'
import { type Failure, fail, holdEach, PASS, type Rule, unseen, type Verdict } from '../verdict.js'

const SECTION = 'List surveys'
const PARAMETER = 'updated_since'

interface Updated {
  readonly id: number
  readonly at: Moment
  /** As the row wrote it. */
  readonly text: string
}

const updatedOf = (row: JsonObject): readonly Updated[] => {
  const [id, at, text] = [integerOf(row.id), parseMoment(row.updated_at), textOf(row.updated_at)]
  return id === null || at === null || text === null ? [] : [{ id, at, text }]
}

/** The surveys seen, the one that was modified last first. */
const lastUpdated = async ({ head, reader }: Evidence): Promise<readonly [Updated, ...Updated[]]> => {
  await head()
  const [newest, ...others] = surveysSeen(reader)
    .flatMap(updatedOf)
    .sort((one, other) => Number(other.at.micros - one.at.micros))
  if (newest === undefined) throw new Unseen('no survey with an updated_at has been seen')
  return [newest, ...others]
}

const since = (reader: Reader, text: string): Promise<ListReading> => reader.surveys([[PARAMETER, text]])

/** A survey on any page of what was modified since; null where it is on none of the first ones. */
const find = async (reader: Reader, text: string, id: number): Promise<Updated | null> => {
  let reading = await since(reader, text)
  for (let page = 2; ; page++) {
    const row = reading.rows.find((one) => one.id === id)
    if (row !== undefined) return updatedOf(row)[0] ?? null
    if (page > PAGES_MAX || page > paging(reading, 'total_pages')) return null
    reading = await reader.surveys([
      [PARAMETER, text],
      ['page', String(page)],
    ])
  }
}

/** The list since the last modification is short; longer than this, the filter does not work. */
const PAGES_MAX = 3

const onlyNewer: Rule = {
  id: 'updated-since.only',
  section: SECTION,
  text: 'updated_since shows no survey that was modified before',
  check: async (evidence) => {
    const { reader } = evidence
    const all = await lastUpdated(evidence)
    const middle = all[Math.floor(all.length / 2)] ?? all[0]
    await since(reader, middle.text)
    await since(reader, FAR_FUTURE)
    return holdEach(
      reader.seen.lists,
      ({ asked, query, rows }): Failure | null | 'skip' => {
        const bound = parseMoment(query.find(([name]) => name === PARAMETER)?.[1])
        if (bound === null) return 'skip'
        const old = rows.flatMap(updatedOf).filter(({ at }) => at.micros < bound.micros)
        const [first] = old
        if (first === undefined) return null
        const expected = `rows with updated_at from ${formatMoment(bound.micros)} on`
        return {
          asked,
          expected,
          got: `${old.length} of ${rows.length} rows are older, as ${reader.show(first.text)}`,
        }
      },
      'nothing was asked',
    )
  },
}

export const FAR_FUTURE = '2999-01-01T00:00:00Z'

const nothingLeftOut: Rule = {
  id: 'updated-since.complete',
  section: SECTION,
  text: 'updated_since leaves no survey out that was modified later',
  check: async (evidence): Promise<Verdict> => {
    const { reader } = evidence
    const all = await lastUpdated(evidence)
    const [newest] = all
    const second = all.find(({ at }) => at.micros < newest.at.micros)
    if (second === undefined) return unseen('all surveys seen were modified at one moment')
    const found = await find(reader, second.text, newest.id)
    if (found !== null) return PASS
    // It may have gone since it was seen.
    const control = await reader.raw(progressPath(newest.id))
    if (control.status !== 200) return unseen('the survey that was modified last has gone meanwhile')
    return fail(
      `GET …/surveys?${PARAMETER}=${second.text}`,
      `survey ${newest.id}, modified at ${newest.text}`,
      'it is not there',
    )
  },
}

const inclusive: Rule = {
  id: 'updated-since.inclusive',
  section: SECTION,
  text: 'updated_since includes the date itself',
  check: async (evidence): Promise<Verdict> => {
    const { reader } = evidence
    const [newest] = await lastUpdated(evidence)
    if ((await find(reader, newest.text, newest.id)) !== null) return PASS
    const before = formatMoment(newest.at.micros - 1_000_000n)
    const control = await find(reader, before, newest.id)
    if (control === null)
      return unseen('a second earlier the survey is not there either: see updated-since.complete')
    if ((await find(reader, newest.text, newest.id)) !== null) return PASS
    const expected = `survey ${newest.id}, modified at that very moment`
    return fail(`GET …/surveys?${PARAMETER}=${newest.text}`, expected, `it is there only with ${before}`)
  },
}

const stepAfter: Rule = {
  id: 'updated-since.step-after',
  section: SECTION,
  text: 'updated_since leaves a survey out that was modified one digit earlier',
  check: async (evidence): Promise<Verdict> => {
    const { reader } = evidence
    const [newest] = await lastUpdated(evidence)
    const after = formatMoment(newest.at.micros + stepOf(newest.at))
    const found = await find(reader, after, newest.id)
    if (found === null || found.at.micros > newest.at.micros) return PASS
    const expected = `not survey ${newest.id}, modified at ${newest.text}`
    return fail(`GET …/surveys?${PARAMETER}=${after}`, expected, 'it is there')
  },
}

const offsets: Rule = {
  id: 'updated-since.offsets',
  section: SECTION,
  text: 'updated_since means the same moment whatever offset it is written with',
  check: async (evidence): Promise<Verdict> => {
    const { reader } = evidence
    const all = await lastUpdated(evidence)
    const { micros } = (all[Math.min(3, all.length - 1)] ?? all[0]).at
    for (const offset of [330, -480]) {
      const compared = await compare(
        () => since(reader, formatMoment(micros)),
        () => since(reader, formatWithOffset(micros, offset)),
        sameIds,
        sameIds,
      )
      if (compared.outcome === 'moved') return unseen(MOVED)
      if (compared.outcome === 'differ') {
        const count = (reading: ListReading) => `total_count ${paging(reading, 'total_count')}`
        return fail(
          compared.other.asked,
          `the rows of ${compared.one.asked}, ${count(compared.one)}`,
          count(compared.other),
        )
      }
    }
    return PASS
  },
}

/** Both filters at once hold what each of them holds. */
const combined: Rule = {
  id: 'surveys.filters-combined',
  section: SECTION,
  text: 'status and updated_since together keep what both keep',
  check: async (evidence): Promise<Verdict> => {
    const { reader, byStatus } = evidence
    const all = await lastUpdated(evidence)
    const { one } = await byStatus()
    const ofStatus = one.reading.rows.flatMap(updatedOf).sort((a, b) => Number(b.at.micros - a.at.micros))
    const bound = ofStatus[Math.floor(ofStatus.length / 2)]
    if (bound === undefined || all.length < 2) return unseen('there are too few surveys of one status')
    const reading = await reader.surveys([
      ['status', one.status],
      [PARAMETER, bound.text],
    ])
    const odd = reading.rows.find(
      (row) => row.status !== one.status || updatedOf(row).some(({ at }) => at.micros < bound.at.micros),
    )
    if (odd === undefined) return PASS
    const got = `a row with status ${reader.show(odd.status)}, updated_at ${reader.show(odd.updated_at)}`
    return fail(reading.asked, `status ${one.status} and updated_at from ${bound.text} on`, got)
  },
}

export const UPDATED_SINCE_RULES: readonly Rule[] = [
  onlyNewer,
  nothingLeftOut,
  inclusive,
  stepAfter,
  offsets,
  combined,
]
