/** An API port that serves rows from memory, for tests of the layers above the port. A test may edit the rows at any time. */
import type { RequestContext } from '../../../src/base/allowance.js'
import type { Progress, SampleSource, Survey } from '../../../src/model/fields.js'
import type { Instant } from '../../../src/model/instant.js'
import {
  type Page,
  type Reading,
  RefusedReadingError,
  type Rejection,
  type SurveySource,
} from '../../../src/model/survey-source.js'
import { minute } from '../time/instants.js'
import { rejection } from '../warehouse/rows.js'
import { pageOf } from './api-document.js'

export interface MemorySurvey {
  sources: SampleSource[]
  /** Null: the row could not be typed. */
  progress: Progress | null
  /** By source id. A source without an entry answers 404. */
  sourceProgress: Record<number, Progress | null>
}

export interface MemorySource extends SurveySource {
  now: Instant
  pageSize: number
  readonly surveys: Map<number, MemorySurvey>
  readonly listed: Survey[]
  /** The requests, in order: `sources 1 page 2`, `progress 1`, `progress 1/11`, `progress 1 on 2026-03-01`, `surveys page 1`. */
  readonly asked: string[]
  before: (request: string) => void
}

export const memorySource = (surveys: Record<number, MemorySurvey> = {}): MemorySource => {
  const ask = async (request: string, { allowance, signal }: RequestContext): Promise<void> => {
    await Promise.resolve()
    signal.throwIfAborted()
    allowance.take()
    source.asked.push(request)
    source.before(request)
  }
  const found = (surveyId: number): MemorySurvey => {
    const survey = source.surveys.get(surveyId)
    if (survey === undefined) throw new RefusedReadingError('not_found', `survey ${surveyId} is not found`)
    return survey
  }
  const answer = (rejections: readonly Rejection[] = []) => ({
    readAt: source.now,
    serverDate: source.now,
    rejections,
    drift: [],
  })
  const page = <Row>(all: readonly Row[], number: number): Page<Row> => ({
    ...answer(),
    ...pageOf(all, number, source.pageSize),
  })
  const reading = (surveyId: number, sampleSourceId: number | null): Reading<Progress> => {
    const survey = found(surveyId)
    const row = sampleSourceId === null ? survey.progress : survey.sourceProgress[sampleSourceId]
    if (row === undefined) throw new RefusedReadingError('not_found', `source ${sampleSourceId} is not found`)
    return { ...answer(row === null ? [rejectedProgress(surveyId, sampleSourceId)] : []), row }
  }
  const source: MemorySource = {
    now: minute(0),
    pageSize: 50,
    surveys: new Map(Object.entries(surveys).map(([id, survey]) => [Number(id), survey])),
    listed: [],
    asked: [],
    before: () => undefined,
    listSurveys: async (query, context) => {
      await ask(`surveys page ${query.page}`, context)
      return page(source.listed, query.page)
    },
    listSampleSources: async (surveyId, number, context) => {
      await ask(`sources ${surveyId} page ${number}`, context)
      return page(found(surveyId).sources, number)
    },
    readProgress: async ({ surveyId, sampleSourceId, window }, context) => {
      const series = sampleSourceId === null ? `${surveyId}` : `${surveyId}/${sampleSourceId}`
      await ask(`progress ${series}${window === undefined ? '' : ` on ${window.day}`}`, context)
      return reading(surveyId, sampleSourceId)
    },
    usage: () => ({
      ...{ requests: source.asked.length, retries: 0, rateLimited: 0, slotsInUse: 0 },
      ...{
        rate: { requests: 60, perMs: 60_000 },
        pausedUntilMs: null,
        slotFreeAtMs: null,
        retryAtMs: null,
        unanswered: null,
        paceIntervalMs: null,
      },
    }),
  }
  return source
}

export const rejectedProgress = (surveyId: number, sampleSourceId: number | null): Rejection =>
  rejection({
    ...{ endpoint: 'fieldwork_progress', surveyId, sampleSourceId },
    ...{ problem: 'completion_rate: not a number', raw: '{"completion_rate":"half"}' },
  })
