/**
 * A service that breaks a rule fails that rule. Each case is the reference server with one fault. It lists
 * all rules that the fault breaks, so a fault that breaks others too shows.
 */
import { expect, test } from 'vitest'
import { SLOW } from '../../support/suite/slow.js'
import { conform, type Fault, idsOf, startFaulty } from './support.js'

const INDICATORS = 'world/indicators.js'

interface Case extends Fault {
  readonly name: string
  /** Only in `npm run test:slow`. */
  readonly slow?: true
  readonly broken: readonly string[]
  /** Rules that the fault breaks in some worlds only. */
  readonly perhaps?: readonly string[]
}

/** Changes how the server reads the values of a query parameter. */
const parameter = (to: string): Fault => ({ file: 'api/operation.js', from: 'query.getAll(name)', to })
const ignoring = (name: string) => `(name === '${name}' ? [] : query.getAll(name))`

const CASES: readonly Case[] = [
  {
    name: 'each page in reverse order',
    file: 'api/endpoints.js',
    from: 'surveys: rows,',
    to: 'surveys: [...rows].reverse(),',
    broken: ['surveys.order', 'surveys.order-filtered'],
  },
  {
    name: 'sources in reverse order',
    slow: true,
    file: 'world/sample-sources.js',
    from: 'created_at: formatIsoTime(source.createdAt,',
    to: 'created_at: formatIsoTime(source.createdAt - source.slot * 1e15,',
    broken: ['sources.order'],
  },
  {
    name: 'updated_since without the date itself',
    file: 'world/organization.js',
    from: 'updatedAt >= since',
    to: 'updatedAt > since',
    broken: ['updated-since.inclusive'],
  },
  {
    name: 'updated_since an hour too early',
    slow: true,
    file: 'world/organization.js',
    from: 'updatedSince ?? Number.NEGATIVE_INFINITY',
    to: '(updatedSince ?? Number.NEGATIVE_INFINITY) - 3_600_000_000',
    broken: ['updated-since.step-after'],
  },
  {
    name: 'updated_since without its offset',
    slow: true,
    ...parameter("query.getAll(name).map((text) => text.replace(/[+-]\\d\\d:\\d\\d$/, 'Z'))"),
    broken: ['updated-since.offsets'],
    // The fault breaks these where the row of the survey that was modified last has an offset.
    perhaps: ['updated-since.complete', 'updated-since.inclusive', 'surveys.filters-combined'],
  },
  {
    name: 'updated_since ignored',
    slow: true,
    ...parameter(ignoring('updated_since')),
    broken: ['updated-since.only', 'updated-since.step-after', 'surveys.filters-combined'],
  },
  {
    name: 'completion_rate over sample_size + 1',
    file: INDICATORS,
    from: 'completion_rate: rate(complete, sampleSize)',
    to: 'completion_rate: rate(complete, sampleSize + 1)',
    broken: ['formula.completion_rate'],
  },
  {
    name: 'questionnaire_incidence_rate without quota_full',
    slow: true,
    file: INDICATORS,
    from: "screenOut + individuals('quota_full')",
    to: 'screenOut',
    broken: ['formula.questionnaire_incidence_rate'],
  },
  {
    name: 'incidence_rate by another formula',
    file: INDICATORS,
    from: 'incidence_rate: targetIncidenceRate,\n        drop_out_rate',
    to: 'incidence_rate: rate(complete, total),\n        drop_out_rate',
    broken: ['formula.incidence_rate'],
  },
  {
    name: 'drop_out_rate over all interviews + 1',
    file: INDICATORS,
    from: 'drop_out_rate: rate(incomplete, total)',
    to: 'drop_out_rate: rate(incomplete, total + 1)',
    broken: ['formula.drop_out_rate'],
  },
  {
    name: 'percentages over all interviews but screen_out',
    slow: true,
    file: INDICATORS,
    from: 'percentage: total === 0 ? 0 : (100 * individuals(status)) / total',
    to: "percentage: total === 0 ? 0 : (100 * individuals(status)) / (total - individuals('screen_out'))",
    broken: ['progress.percentages'],
  },
  {
    name: 'started_after without the moment itself',
    file: INDICATORS,
    from: 'start < from',
    to: 'start <= from',
    broken: ['windows.after-inclusive'],
  },
  {
    name: 'started_before without the moment itself',
    slow: true,
    file: INDICATORS,
    from: 'start > to',
    to: 'start >= to',
    broken: ['windows.before-inclusive'],
  },
  {
    name: 'started_before ignored',
    ...parameter(ignoring('started_before')),
    broken: ['windows.before-past'],
  },
  {
    name: 'total_count one too many',
    file: 'api/endpoints.js',
    from: 'total_count: totalCount',
    to: 'total_count: totalCount + 1',
    broken: ['paging.total-pages', 'paging.total-count', 'status.array-union'],
  },
  {
    name: 'next_page two pages on',
    slow: true,
    file: 'api/endpoints.js',
    from: 'page + 1 : null',
    to: 'page + 2 : null',
    broken: ['paging.next'],
  },
  {
    name: 'a next_page behind the last page',
    slow: true,
    file: 'api/endpoints.js',
    from: 'next_page: page < totalPages',
    to: 'next_page: page <= totalPages',
    broken: ['paging.last'],
  },
  {
    name: 'the last row of a page on the next one too',
    file: 'api/endpoints.js',
    from: '(page - 1) * pageSize',
    to: '(page - 1) * pageSize - (page > 1 ? 1 : 0)',
    broken: ['paging.total-count', 'paging.no-overlap'],
  },
  {
    name: 'status[] ignored',
    ...parameter(ignoring('status[]')),
    broken: ['status.array-only', 'status.array-union', 'status.array-of-one'],
  },
  {
    name: 'a filter that leaves every fifth survey out',
    slow: true,
    file: 'world/organization.js',
    from: 'wanted[status]',
    to: 'wanted[status] && (wanted.every(Boolean) || index % 5 > 0)',
    broken: ['status.complete'],
  },
  {
    name: 'a field left out',
    file: 'world/surveys.js',
    from: '        hashid,\n',
    to: '',
    broken: ['survey.hashid'],
  },
  {
    name: 'a number as text',
    slow: true,
    file: 'world/sample-sources.js',
    from: 'sample_size: version.sampleSize',
    to: 'sample_size: String(version.sampleSize)',
    broken: ['source.sample_size'],
  },
  {
    name: 'a length_of_interview with half a second',
    slow: true,
    file: INDICATORS,
    from: 'Math.round((lower + upper) / 2)',
    to: 'Math.round((lower + upper) / 2) + 0.5',
    broken: ['progress.length_of_interview'],
  },
  {
    name: 'interviews_count counts all interviews',
    slow: true,
    file: INDICATORS,
    from: 'interviews_count: complete,',
    to: 'interviews_count: total,',
    broken: ['progress.interviews-are-complete'],
  },
  {
    name: 'a progress with a pagination object',
    slow: true,
    file: 'api/endpoints.js',
    from: 'fieldwork_progress: progress }',
    to: 'fieldwork_progress: progress, pagination: {} }',
    broken: ['answers.fieldwork_progress'],
  },
  {
    name: 'a time without its offset',
    file: 'world/surveys.js',
    from: 'created_at: formatIsoTime(state.createdAt, createdStyle)',
    to: 'created_at: formatIsoTime(state.createdAt, createdStyle).slice(0, 19)',
    broken: ['survey.created_at'],
  },
  {
    name: 'a status that the document does not name',
    slow: true,
    file: 'world/surveys.js',
    from: 'status: state.status',
    to: "status: state.status === 'draft' ? 'sketch' : state.status",
    broken: ['survey.status'],
  },
  {
    name: 'no credentials needed',
    file: 'api/routes.js',
    from: 'identity.token) ?? null',
    to: 'identity.token) ?? members[0]',
    broken: [
      'authentication.none',
      'authentication.id-only',
      'authentication.token-only',
      'authentication.wrong-token',
    ],
  },
  {
    name: 'sample_source_id ignored',
    slow: true,
    ...parameter(ignoring('sample_source_id')),
    broken: ['progress.source-sample-size', 'progress.source-restricts'],
  },
  {
    name: 'ignored interviews shown',
    slow: true,
    file: INDICATORS,
    from: "complete: entry('complete'),",
    to: "complete: entry('complete'), ignored: { individuals: 3, percentage: 1 },",
    broken: ['progress.no-ignored'],
  },
]

/** Enough for all rules but the search for the start of an interview. */
const REQUESTS_WITHOUT_SEARCH = 52

/** `npm test` tries some of them. */
const TRIED = CASES.filter(({ slow }, place) => SLOW || (slow !== true && place % 3 === 0))

test.concurrent.for(TRIED)('$name', async ({ broken, perhaps = [], ...fault }, { onTestFinished }) => {
  const server = await startFaulty(fault, onTestFinished)
  const isSearched = broken.some((id) => id.startsWith('windows.'))
  const report = await conform(server, isSearched ? {} : { requestsMax: REQUESTS_WITHOUT_SEARCH })
  expect(idsOf(report, 'fail').filter((id) => !perhaps.includes(id))).toEqual(broken)
})
