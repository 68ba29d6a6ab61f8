/** What the API shows of a survey that has sources which come and go, without a word of `updated_at`. */
import { expect, test } from 'vitest'
import { INTERVIEW_STATUSES, type Progress, type SampleSource } from '../../../../src/model/fields.js'
import type { SurveySource } from '../../../../src/model/survey-source.js'
import type { CellRow } from '../../../../src/model/warehouse.js'
import { compareSurvey } from '../../../../src/verify/sample/compare-survey.js'
import type { StoredSurvey } from '../../../../src/verify/sample/stored.js'
import { memorySource } from '../../../support/api/memory-source.js'
import { minute } from '../../../support/time/instants.js'
import { progress, source, survey } from '../../../support/warehouse/rows.js'

const READ = minute(0)
const row = (cells: CellRow, missingSince: bigint | null = null) => ({
  cells,
  firstSeenAt: READ,
  datedAt: READ,
  missingSince,
})
const sourceRow = (one: SampleSource) => [one.id, row({ ...one, survey_id: 1 })] as const
const progressRow = (id: number, one: Progress, missingSince: bigint | null = null) =>
  [id, row({ ...one, survey_id: 1, sample_source_id: id }, missingSince)] as const

/** Two sources of a target of 100 each, with equal progress. */
const [FIRST, SECOND] = [source(11), source(12)]
const OF_SOURCE = progress(5, { sample_size: 100, completion_rate: 0.05 })
const OF_SURVEY = progress(10)
const WITHOUT_SECOND = progress(5, { sample_size: 100, completion_rate: 0.05 })

const stored = (change: Partial<StoredSurvey> = {}): StoredSurvey => ({
  survey: row({ ...survey(1) }),
  pending: null,
  listedUntil: READ,
  isQueued: false,
  sources: new Map([sourceRow(FIRST), sourceRow(SECOND)]),
  progress: row({ ...OF_SURVEY, survey_id: 1 }),
  sourceProgress: new Map([progressRow(11, OF_SOURCE), progressRow(12, OF_SOURCE)]),
  refreshedAt: READ,
  sourcesListedAt: READ,
  sourceProgressReadAt: READ,
  sourceProgressKnownAt: READ,
  quarantine: new Set(),
  ...change,
})

const api = memorySource({
  1: { sources: [FIRST, SECOND], progress: OF_SURVEY, sourceProgress: { 11: OF_SOURCE, 12: OF_SOURCE } },
})
api.now = minute(600)

const compare = async (of: StoredSurvey, source: SurveySource = api) => {
  const compared = await compareSurvey({
    source,
    context: { signal: new AbortController().signal, allowance: { take: () => undefined } },
    surveyId: 1,
    stored: of,
    listedNow: async () => survey(1),
    slackMs: 300_000,
    shows: () => undefined,
  })
  if (compared === 'gone') throw new Error('the survey is there')
  return compared
}

const verdicts = async (of: StoredSurvey) =>
  (await compare(of)).map(({ table, sampleSourceId, verdict }) => `${table} ${sampleSourceId} ${verdict}`)

const wrongOf = async (of: StoredSurvey) => (await verdicts(of)).filter((one) => one.endsWith('wrong'))

test('equal rows are equal', async () => {
  expect((await verdicts(stored())).every((one) => one.endsWith('equal'))).toBe(true)
})

test('a source that we never saw comes back as it was: the target that we read did not count it', async () => {
  const of = { sources: new Map([sourceRow(FIRST)]), sourceProgress: new Map([progressRow(11, OF_SOURCE)]) }
  expect(await wrongOf(stored({ ...of, progress: row({ ...WITHOUT_SECOND, survey_id: 1 }) }))).toEqual([])
  // It was there when we read, so the warehouse lost it.
  expect(await wrongOf(stored(of))).toEqual(['sample_sources 12 wrong'])
})

test('a source was away when progress was read, after its list', async () => {
  const away = { progress: row({ ...WITHOUT_SECOND, survey_id: 1 }) }
  expect(await wrongOf(stored({ ...away, sourcesListedAt: minute(-600) }))).toEqual([])
  // The list was read together with the progress.
  expect(await wrongOf(stored(away))).toEqual(['survey_progress null wrong'])
  // No source explains the difference.
  const target = { ...OF_SURVEY, sample_size: 150, completion_rate: 10 / 150, survey_id: 1 }
  expect(await wrongOf(stored({ progress: row(target), sourcesListedAt: minute(-600) }))).toEqual([
    'survey_progress null wrong',
  ])
})

test('progress of a source that was gone is there again', async () => {
  const of = (missing: boolean) =>
    stored({
      sourceProgress: new Map([
        progressRow(11, OF_SOURCE),
        ...(missing ? [progressRow(12, OF_SOURCE, minute(0))] : []),
      ]),
    })
  expect(await wrongOf(of(true))).toEqual([])
  expect(await wrongOf(of(false))).toEqual(['sample_source_progress 12 wrong'])
})

/** Progress with no interviews but complete ones. */
const counted = (complete: number) =>
  progress(complete, {
    ...Object.fromEntries(INTERVIEW_STATUSES.map((name) => [`${name}_individuals`, 0])),
    ...{ sample_size: 100, completion_rate: complete / 100, complete_individuals: complete },
    target_incidence_rate: complete === 0 ? null : 1,
  })

test('a length that moved without a count is unclear if the sum of the survey was the proof, else wrong', async () => {
  const source: SurveySource = {
    ...api,
    readProgress: async (query, context) => ({
      ...(await api.readProgress(query, context)),
      ...(query.sampleSourceId === null ? {} : { row: counted(5) }),
    }),
  }
  const judged = async (knownAt: bigint) => {
    const longer = { ...counted(5), length_of_interview: 999 }
    const sourceProgress = new Map([progressRow(11, longer), progressRow(12, counted(5))])
    const found = await compare(stored({ sourceProgressKnownAt: knownAt, sourceProgress }), source)
    return found
      .filter(({ table }) => table === 'sample_source_progress')
      .map(({ sampleSourceId, verdict }) => [sampleSourceId, verdict])
  }
  expect(await judged(minute(60))).toEqual([
    [11, 'unclear'],
    [12, 'equal'],
  ])
  expect(await judged(READ)).toEqual([
    [11, 'wrong'],
    [12, 'equal'],
  ])
})

test('a source that another one hid moved since it was read, and one that is known without inference is wrong', async () => {
  /** Source 12 has five interviews that started at 0, and one an hour later. Source 11 has as many as stored, or has lost one. */
  let other = 4
  const source: SurveySource = {
    ...api,
    readProgress: async (query, context) => {
      const reading = await api.readProgress(query, context)
      if (query.sampleSourceId === null) return reading
      const until = query.window?.startedBefore ?? api.now
      if (query.sampleSourceId === 11) return { ...reading, row: counted(until <= minute(0) ? 0 : other) }
      return { ...reading, row: counted(until <= minute(0) ? 0 : until <= minute(60) ? 5 : 6) }
    },
  }
  const of = (knownAt: bigint, readAt: bigint, otherDatedAt = READ) =>
    stored({
      ...{ sourceProgressReadAt: readAt, sourceProgressKnownAt: knownAt },
      sourceProgress: new Map([
        [11, { ...progressRow(11, counted(5))[1], datedAt: otherDatedAt }],
        progressRow(12, counted(5)),
      ]),
    })
  const judged = async (one: StoredSurvey) => {
    const found = (await compare(one, source)).find(({ sampleSourceId, table }) => {
      return sampleSourceId === 12 && table === 'sample_source_progress'
    })
    return [found?.verdict, found?.why]
  }
  expect(await judged(of(minute(120), minute(30)))).toEqual([
    'moved',
    'it moved since it was read, and another source of the survey hid that',
  ])
  expect(await judged(of(minute(40), minute(30)))).toEqual(['moved', 'interviews have started since'])
  expect((await judged(of(minute(120), minute(120))))[0]).toBe('wrong')
  // Alone, it cannot leave the survey as it was, unless the other moved between the answers of the survey and its own.
  other = 5
  expect((await judged(of(minute(120), minute(30))))[0]).toBe('wrong')
  expect((await judged(of(minute(120), minute(30), minute(120))))[0]).toBe('moved')
})
