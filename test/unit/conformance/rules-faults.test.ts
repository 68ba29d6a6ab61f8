/**
 * A service that breaks a rule fails that rule. Each case is the reference server with one fault. It lists
 * all rules that the fault breaks, so a fault that breaks others too shows.
 */
import { expect, test } from 'vitest'
import { SLOW } from '../../support/suite/slow.js'
import { type Change, conform, idsOf, startFaulty } from './support.js'

const INDICATORS = 'world/indicators.js'

/** Changes how the server reads the values of a query parameter. */
const parameter = (to: string): Change => ['api/operation.js', 'query.getAll(name)', to]
const ignoring = (name: string) => `(name === '${name}' ? [] : query.getAll(name))`

type Case = readonly [name: string, change: Change, broken: string, perhaps?: string]

/** By the rules that they break, separated by spaces; `perhaps` those that they break in some worlds only. */
const CASES: readonly Case[] = [
  [
    'each page in reverse order',
    ['api/endpoints.js', 'surveys: rows,', 'surveys: [...rows].reverse(),'],
    'surveys.order surveys.order-filtered',
  ],
  [
    'updated_since without the date itself',
    ['world/organization.js', 'updatedAt >= since', 'updatedAt > since'],
    'updated-since.inclusive',
  ],
  [
    'completion_rate over sample_size + 1',
    [
      INDICATORS,
      'completion_rate: rate(complete, sampleSize)',
      'completion_rate: rate(complete, sampleSize + 1)',
    ],
    'formula.completion_rate',
  ],
  [
    'incidence_rate by another formula',
    [
      INDICATORS,
      'incidence_rate: targetIncidenceRate,\n        drop_out_rate',
      'incidence_rate: rate(complete, total),\n        drop_out_rate',
    ],
    'formula.incidence_rate',
  ],
  [
    'drop_out_rate over all interviews + 1',
    [INDICATORS, 'drop_out_rate: rate(incomplete, total)', 'drop_out_rate: rate(incomplete, total + 1)'],
    'formula.drop_out_rate',
  ],
  [
    'started_after without the moment itself',
    [INDICATORS, 'start < from', 'start <= from'],
    'windows.after-inclusive',
  ],
  ['started_before ignored', parameter(ignoring('started_before')), 'windows.before-past'],
  [
    'total_count one too many',
    ['api/endpoints.js', 'total_count: totalCount', 'total_count: totalCount + 1'],
    'paging.total-pages paging.total-count status.array-union',
  ],
  [
    'the last row of a page on the next one too',
    ['api/endpoints.js', '(page - 1) * pageSize', '(page - 1) * pageSize - (page > 1 ? 1 : 0)'],
    'paging.total-count paging.no-overlap',
  ],
  [
    'status[] ignored',
    parameter(ignoring('status[]')),
    'status.array-only status.array-union status.array-of-one',
  ],
  ['a field left out', ['world/surveys.js', '        hashid,\n', ''], 'survey.hashid'],
  [
    'a time without its offset',
    [
      'world/surveys.js',
      'created_at: formatIsoTime(state.createdAt, createdStyle)',
      'created_at: formatIsoTime(state.createdAt, createdStyle).slice(0, 19)',
    ],
    'survey.created_at',
  ],
  [
    'no credentials needed',
    ['api/routes.js', 'identity.token) ?? null', 'identity.token) ?? members[0]'],
    'authentication.none authentication.id-only authentication.token-only authentication.wrong-token',
  ],
]
/** Only in `npm run test:slow`. */
const SLOW_CASES: readonly Case[] = [
  [
    'sources in reverse order',
    [
      'world/sample-sources.js',
      'created_at: formatIsoTime(source.createdAt,',
      'created_at: formatIsoTime(source.createdAt - source.slot * 1e15,',
    ],
    'sources.order',
  ],
  [
    'updated_since an hour too early',
    [
      'world/organization.js',
      'updatedSince ?? Number.NEGATIVE_INFINITY',
      '(updatedSince ?? Number.NEGATIVE_INFINITY) - 3_600_000_000',
    ],
    'updated-since.step-after',
  ],
  [
    'updated_since without its offset',
    parameter("query.getAll(name).map((text) => text.replace(/[+-]\\d\\d:\\d\\d$/, 'Z'))"),
    'updated-since.offsets',
    'updated-since.complete updated-since.inclusive surveys.filters-combined',
  ],
  [
    'updated_since ignored',
    parameter(ignoring('updated_since')),
    'updated-since.only updated-since.step-after surveys.filters-combined',
  ],
  [
    'questionnaire_incidence_rate without quota_full',
    [INDICATORS, "screenOut + individuals('quota_full')", 'screenOut'],
    'formula.questionnaire_incidence_rate',
  ],
  [
    'percentages over all interviews but screen_out',
    [
      INDICATORS,
      'percentage: total === 0 ? 0 : (100 * individuals(status)) / total',
      "percentage: total === 0 ? 0 : (100 * individuals(status)) / (total - individuals('screen_out'))",
    ],
    'progress.percentages',
  ],
  [
    'started_before without the moment itself',
    [INDICATORS, 'start > to', 'start >= to'],
    'windows.before-inclusive',
  ],
  ['next_page two pages on', ['api/endpoints.js', 'page + 1 : null', 'page + 2 : null'], 'paging.next'],
  [
    'a next_page behind the last page',
    ['api/endpoints.js', 'next_page: page < totalPages', 'next_page: page <= totalPages'],
    'paging.last',
  ],
  [
    'a filter that leaves every fifth survey out',
    ['world/organization.js', 'wanted[status]', 'wanted[status] && (wanted.every(Boolean) || index % 5 > 0)'],
    'status.complete',
  ],
  [
    'a number as text',
    ['world/sample-sources.js', 'sample_size: version.sampleSize', 'sample_size: String(version.sampleSize)'],
    'source.sample_size',
  ],
  [
    'a length_of_interview with half a second',
    [INDICATORS, 'Math.round((lower + upper) / 2)', 'Math.round((lower + upper) / 2) + 0.5'],
    'progress.length_of_interview',
  ],
  [
    'interviews_count counts all interviews',
    [INDICATORS, 'interviews_count: complete,', 'interviews_count: total,'],
    'progress.interviews-are-complete',
  ],
  [
    'a progress with a pagination object',
    ['api/endpoints.js', 'fieldwork_progress: progress }', 'fieldwork_progress: progress, pagination: {} }'],
    'answers.fieldwork_progress',
  ],
  [
    'a status that the document does not name',
    [
      'world/surveys.js',
      'status: state.status',
      "status: state.status === 'draft' ? 'sketch' : state.status",
    ],
    'survey.status',
  ],
  [
    'sample_source_id ignored',
    parameter(ignoring('sample_source_id')),
    'progress.source-sample-size progress.source-restricts',
  ],
  [
    'ignored interviews shown',
    [
      INDICATORS,
      "complete: entry('complete'),",
      "complete: entry('complete'), ignored: { individuals: 3, percentage: 1 },",
    ],
    'progress.no-ignored',
  ],
]

/** Enough for all rules but the search for the start of an interview. */
const REQUESTS_WITHOUT_SEARCH = 52

/** `npm test` tries some of them. */
const TRIED = SLOW ? [...CASES, ...SLOW_CASES] : CASES.filter((_, place) => place % 3 === 0)

test.concurrent.for(TRIED)('%s', async ([_, change, broken, perhaps = ''], { onTestFinished }) => {
  const server = await startFaulty(change, onTestFinished)
  const options = broken.includes('windows.') ? {} : { requestsMax: REQUESTS_WITHOUT_SEARCH }
  const failed = idsOf(await conform(server, options), 'fail')
  expect(failed.filter((id) => !perhaps.split(' ').includes(id))).toEqual(broken.split(' '))
})
