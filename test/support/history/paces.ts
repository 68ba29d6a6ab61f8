/**
 * The pace and forecast of surveys and sources, computed day by day from the expected history. The views compute the same
 * without days, and by a closed form.
 */
import { INTERVIEW_STATUSES } from '../api/api-document.js'
import type { Reader, Row } from '../warehouse/duckdb.js'
import type { ExpectedHistory, Version } from './expected.js'

const DAY_MS = 86_400_000
const PACE_DAYS = 7
const SPREAD_DAYS = 28
const FORECAST_DAYS_MAX = 3650

/** The stored and the expected rows of the views of pace. */
export const bothPaces = async (reader: Reader, expected: ExpectedHistory) => ({
  stored: {
    surveys: await reader.query(
      'SELECT * EXCLUDE (account) REPLACE (expected_on::VARCHAR AS expected_on, expected_from::VARCHAR AS expected_from, expected_to::VARCHAR AS expected_to) FROM survey_pace ORDER BY survey_id',
    ),
    sources: await reader.query(
      'SELECT * EXCLUDE (account) REPLACE (expected_on::VARCHAR AS expected_on) FROM sample_source_pace ORDER BY survey_id, sample_source_id',
    ),
  },
  expected: { surveys: surveyPaces(expected), sources: sourcePaces(expected) },
})

const surveyPaces = (expected: ExpectedHistory): Row[] =>
  shown(expected.surveys.records).flatMap(([key, { row: survey }]) => {
    const versions = expected.progress.records.get(key)
    const current = versions?.at(-1)
    if (versions === undefined || current === undefined) return []
    const { first, last, spread, asOf, ...pace } = paceOf(versions, current.readAt)
    const { row } = current
    const [missing, target] = [
      Number(row.sample_size) - Number(row.interviews_count),
      Number(row.sample_size),
    ]
    const goal = { isPursued: survey.status === 'fieldwork' && target > 0, missing, asOf, pace, spread }
    const grown = (...names: readonly string[]) =>
      first === null ? null : sum(last, names) - sum(first, names)
    const before = (...names: readonly string[]) => (first === null ? null : sum(first, names))
    const rest = INTERVIEW_STATUSES.filter((status) => status !== 'incomplete')
    return [
      {
        survey_id: survey.id,
        title: survey.title,
        project_id: survey.project_id,
        status: survey.status,
        sample_size: row.sample_size,
        interviews_count: row.interviews_count,
        completion_rate: row.completion_rate,
        refreshed_at: current.readAt,
        ...pace,
        ...forecastOf(goal),
        target_incidence_rate: row.target_incidence_rate,
        recent_incidence_rate: rate(grown('complete'), grown('screen_out')),
        earlier_incidence_rate: rate(before('complete'), before('screen_out')),
        drop_out_rate: row.drop_out_rate,
        recent_drop_out_rate: rate(grown('incomplete'), grown(...rest)),
        earlier_drop_out_rate: rate(before('incomplete'), before(...rest)),
      },
    ]
  })

const sourcePaces = (expected: ExpectedHistory): Row[] =>
  shown(expected.sources.records).flatMap(([key, { row: source }]) => {
    const [surveyId = ''] = key.split('/')
    const survey = expected.surveys.records.get(surveyId)?.at(-1)
    const whole = expected.progress.records.get(surveyId)?.at(-1)
    const versions = expected.sourceProgress.records.get(key)
    const current = versions?.at(-1)
    if (survey?.to !== null || whole === undefined || versions === undefined || current === undefined)
      return []
    // The survey has not changed since its sources were read, so they have not changed either.
    const knownUntil = whole.from <= current.readAt ? whole.readAt : current.readAt
    const { first: _first, last: _last, spread, asOf, ...pace } = paceOf(versions, knownUntil)
    const [target, wholeTarget] = [Number(source.sample_size), Number(whole.row.sample_size)]
    const reached = Number(current.row.interviews_count)
    const missing = target - reached
    const goal = { isPursued: survey.row.status === 'fieldwork' && target > 0, missing, asOf, pace, spread }
    return [
      {
        survey_id: Number(surveyId),
        sample_source_id: source.id,
        name: source.name,
        provider: source.provider,
        country_code: source.country_code,
        sample_size: source.sample_size,
        interviews_count: current.row.interviews_count,
        completion_rate: current.row.completion_rate,
        survey_completion_rate: whole.row.completion_rate,
        behind:
          target > 0 && wholeTarget > 0
            ? behind(BigInt(target), BigInt(Number(whole.row.interviews_count)), BigInt(wholeTarget), reached)
            : null,
        source_progress_read_at: current.readAt,
        ...pace,
        expected_on: forecastOf(goal).expected_on,
      },
    ]
  })

/** The fewest interviews that make the source as complete as its survey, without those that it has. */
const behind = (target: bigint, wholeReached: bigint, wholeTarget: bigint, reached: number): number => {
  const product = target * (wholeReached < wholeTarget ? wholeReached : wholeTarget)
  const wanted = product / wholeTarget + (product % wholeTarget === 0n ? 0n : 1n)
  return Math.max(0, Number(wanted) - reached)
}

const shown = (records: ReadonlyMap<string, readonly Version[]>) =>
  [...records]
    .flatMap(([key, versions]) => {
      const last = versions.at(-1)
      return last?.to === null ? [[key, last] as const] : []
    })
    .toSorted(([one], [other]) => compare(one.split('/'), other.split('/')))

const compare = (one: readonly string[], other: readonly string[]): number =>
  one.map((part, place) => Number(part) - Number(other[place])).find((order) => order !== 0) ?? 0

/** The last row of each day on which the record was known. */
const daysOf = (versions: readonly Version[], knownUntil: string): ReadonlyMap<string, Row> => {
  const days = new Map<string, Row>()
  for (const { row, from, to } of versions) {
    const end = to === null ? Date.parse(knownUntil) : Math.max(Date.parse(to) - 1, Date.parse(from))
    for (let ms = Date.parse(dateOf(Date.parse(from))); ms <= end; ms += DAY_MS) days.set(dateOf(ms), row)
  }
  return days
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const daysAfter = (day: string, days: number): string => dateOf(Date.parse(day) + days * DAY_MS)

const paceOf = (versions: readonly Version[], knownUntil: string) => {
  const days = daysOf(versions, knownUntil)
  const asOf = [...days.keys()].toSorted().at(-1) ?? ''
  const known = Array.from({ length: PACE_DAYS + 1 }, (_, at) => daysAfter(asOf, at - PACE_DAYS)).filter(
    (day) => days.has(day),
  )
  const [first, last] = [days.get(known[0] ?? ''), days.get(known.at(-1) ?? '')]
  const paceDays = (Date.parse(known.at(-1) ?? '') - Date.parse(known[0] ?? '')) / DAY_MS
  const gained = Number(last?.interviews_count) - Number(first?.interviews_count)
  const gains = Array.from({ length: SPREAD_DAYS }, (_, at) => daysAfter(asOf, at - SPREAD_DAYS + 1)).flatMap(
    (day) => {
      const [before, row] = [days.get(daysAfter(day, -1)), days.get(day)]
      return before === undefined || row === undefined
        ? []
        : [Number(row.interviews_count) - Number(before.interviews_count)]
    },
  )
  const rise = versions.findLast(
    ({ row }, place) => Number(row.interviews_count) > Number(versions[place - 1]?.row.interviews_count),
  )
  return {
    asOf,
    first: paceDays > 0 ? (first ?? null) : null,
    last: last ?? {},
    spread: gains.length < 7 ? null : deviation(gains),
    last_gain_at: rise?.from ?? null,
    pace_days: paceDays > 0 ? paceDays : null,
    gained: paceDays > 0 ? gained : null,
    per_day: paceDays > 0 ? gained / paceDays : null,
    gained_last_day: days.has(daysAfter(asOf, -1))
      ? Number(days.get(asOf)?.interviews_count) - Number(days.get(daysAfter(asOf, -1))?.interviews_count)
      : null,
  }
}

const deviation = (values: readonly number[]): number => {
  const mean = values.reduce((total, value) => total + value, 0) / values.length
  return Math.sqrt(values.reduce((total, value) => total + (value - mean) ** 2, 0) / (values.length - 1))
}

interface Goal {
  readonly isPursued: boolean
  readonly missing: number
  readonly asOf: string
  readonly pace: { readonly pace_days: number | null; readonly gained: number | null }
  readonly spread: number | null
}

/** The first day on which the mean and each bound of the gain reach the target, found day by day. */
const forecastOf = ({ isPursued, missing, asOf, pace: { pace_days, gained }, spread }: Goal) => {
  const dayBy = (deviations: number): string | null => {
    if (!isPursued) return null
    if (missing <= 0) return asOf
    if (pace_days === null || gained === null || gained <= 0) return null
    for (let day = 1; day <= FORECAST_DAYS_MAX; day += 1) {
      const varied =
        deviations === 0 ? 0 : deviations * Number(spread) * Math.sqrt(day + day ** 2 / pace_days)
      if ((gained / pace_days) * day + varied >= missing - 1e-6) return daysAfter(asOf, day)
    }
    return null
  }
  const expectedOn = dayBy(0)
  const hasInterval = expectedOn !== null && (missing <= 0 || spread !== null)
  return {
    expected_on: expectedOn,
    expected_from: hasInterval ? dayBy(1.28) : null,
    expected_to: hasInterval ? dayBy(-1.28) : null,
  }
}

const sum = (row: Row, statuses: readonly string[]): number =>
  statuses.reduce((total, status) => total + Number(row[`${status}_individuals`]), 0)

const rate = (part: number | null, rest: number | null): number | null =>
  part === null || rest === null || part < 0 || rest < 0 || part + rest === 0 ? null : part / (part + rest)
