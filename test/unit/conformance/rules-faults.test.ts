/**
 * A service that breaks a rule fails that rule. Each case is the reference server with one fault. It lists
 * all rules that the fault breaks, so a fault that breaks others too shows.
 */
import { expect, test } from 'vitest'
import { ALL_CASES } from '../../support/suite/cases.js'
import { type Change, conform, idsOf, startFaulty } from './support.js'

const INDICATORS = 'world/indicators.js'
const ENDPOINTS = 'api/endpoints.js'
const ORGANIZATION = 'world/organization.js'

/** Changes how the server reads the values of a query parameter. */
const parameter = (to: string): Change => ['api/operation.js', 'query.getAll(name)', to]
const ignoring = (name: string) => parameter(`(name === '${name}' ? [] : query.getAll(name))`)

/** The faults, by the rules that they break. */
type Cases = Readonly<Record<string, Change>>

const CASES: Cases = {
  'surveys.order surveys.order-filtered': [ENDPOINTS, 'surveys: rows,', 'surveys: [...rows].reverse(),'],
  'updated-since.inclusive': [ORGANIZATION, 'changedAt >= updatedSince', 'changedAt > updatedSince'],
  'formula.completion_rate': [INDICATORS, 'rate(complete, sampleSize)', 'rate(complete, sampleSize + 1)'],
  'formula.incidence_rate': [
    INDICATORS,
    'incidence_rate: targetIncidenceRate,\n        drop_out_rate',
    'incidence_rate: rate(complete, total),\n        drop_out_rate',
  ],
  'windows.before-past': ignoring('started_before'),
  'windows.after-inclusive': [INDICATORS, 'start < from', 'start <= from'],
  'formula.drop_out_rate': [INDICATORS, 'rate(incomplete, total)', 'rate(incomplete, total + 1)'],
  'paging.total-pages paging.total-count status.array-union': [
    ENDPOINTS,
    'total_count: totalCount',
    'total_count: totalCount + 1',
  ],
  'status.array-only status.array-union status.array-of-one': ignoring('status[]'),
  // The last row of a page is on the next one too.
  'paging.total-count paging.no-overlap': [
    ENDPOINTS,
    '(page - 1) * pageSize',
    '(page - 1) * pageSize - (page > 1 ? 1 : 0)',
  ],
  'survey.hashid': ['world/surveys.js', '        hashid,\n', ''],
  'survey.created_at': [
    'world/surveys.js',
    'past.at(0)?.at ?? 0, createdStyle)',
    'past.at(0)?.at ?? 0, createdStyle).slice(0, 19)',
  ],
  'authentication.none authentication.id-only authentication.token-only authentication.wrong-token': [
    'api/routes.js',
    'identity.token) ?? null',
    'identity.token) ?? members[0]',
  ],
}
/** Only in the full suite. */
const MORE_CASES: Cases = {
  'sources.order': [
    'world/sample-sources.js',
    'created_at: formatIsoTime(createdAt,',
    'created_at: formatIsoTime(createdAt - slot * 1e15,',
  ],
  // An hour too early.
  'updated-since.step-after': [
    ORGANIZATION,
    'changedAt >= updatedSince',
    'changedAt >= updatedSince - 3_600_000_000',
  ],
  'updated-since.offsets': parameter(
    "query.getAll(name).map((text) => text.replace(/[+-]\\d\\d:\\d\\d$/, 'Z'))",
  ),
  'updated-since.only updated-since.step-after surveys.filters-combined': ignoring('updated_since'),
  'formula.questionnaire_incidence_rate': [INDICATORS, "screenOut + individuals('quota_full')", 'screenOut'],
  'progress.percentages': [
    INDICATORS,
    '(100 * individuals(status)) / total',
    "(100 * individuals(status)) / (total - individuals('screen_out'))",
  ],
  'windows.before-inclusive': [INDICATORS, 'start > to', 'start >= to'],
  'paging.next': [ENDPOINTS, 'page + 1 : null', 'page + 2 : null'],
  'paging.last': [ENDPOINTS, 'next_page: page < totalPages', 'next_page: page <= totalPages'],
  // A filter leaves every fifth survey out.
  'status.complete': [
    ORGANIZATION,
    'wanted[status]',
    '(wanted[status] && (wanted.every(Boolean) || index % 5 > 0))',
  ],
  'source.sample_size': [
    ORGANIZATION,
    '({ shown }) => shown)',
    '({ shown }) => ({ ...shown, sample_size: String(shown.sample_size) }))',
  ],
  'progress.length_of_interview': [INDICATORS, 'Math.round((middle[0]', '0.5 + Math.round((middle[0]'],
  'progress.interviews-are-complete': [INDICATORS, 'interviews_count: complete,', 'interviews_count: total,'],
  'answers.fieldwork_progress': [
    ENDPOINTS,
    'fieldwork_progress: progress }',
    'fieldwork_progress: progress, pagination: {} }',
  ],
  'survey.status': ['world/surveys.js', ".at(-1) ?? 'draft'", ".at(-1)?.replace('draft', 'sketch')"],
  'progress.source-sample-size progress.source-restricts': ignoring('sample_source_id'),
  'progress.no-ignored': [
    INDICATORS,
    "complete: entry('complete'),",
    "complete: entry('complete'), ignored: { individuals: 3, percentage: 1 },",
  ],
}

/** Rules that a fault breaks in some worlds only. */
const PERHAPS: Readonly<Record<string, string>> = {
  'updated-since.offsets': 'updated-since.complete updated-since.inclusive surveys.filters-combined',
}

/** Enough for all rules but the search for the start of an interview. */
const REQUESTS_WITHOUT_SEARCH = 52

/** `npm test` tries some of them. */
const TRIED = ALL_CASES
  ? Object.entries({ ...CASES, ...MORE_CASES })
  : Object.entries(CASES).filter((_, place) => place % 4 === 0)

test.concurrent.for(TRIED)('a fault breaks %s', async ([broken, change], { onTestFinished }) => {
  const server = await startFaulty(change, onTestFinished)
  const options = broken.includes('windows.') ? {} : { requestsMax: REQUESTS_WITHOUT_SEARCH }
  const failed = idsOf(await conform(server, options), 'fail')
  const perhaps = PERHAPS[broken]?.split(' ') ?? []
  expect(failed.filter((id) => !perhaps.includes(id))).toEqual(broken.split(' '))
})
