/** Reads the present state of one survey from the service: all of its sources, also sources that its list leaves out, and progress. */
import { z } from 'zod'
import type { RequestContext } from '../../base/allowance.js'
import { parse } from '../../base/parse.js'
import type { DayWindow } from '../../model/calendar.js'
import type { Progress, SampleSource } from '../../model/fields.js'
import {
  newestById,
  type Reading,
  RefusedReadingError,
  type SurveySource,
} from '../../model/survey-source.js'
import type { StoredSurvey } from './stored.js'

export interface OneSurvey {
  readonly source: SurveySource
  readonly context: RequestContext
  readonly surveyId: number
  readonly stored: StoredSurvey
}

export const readProgress = (
  { source, context, surveyId }: OneSurvey,
  sampleSourceId: number | null,
  window?: DayWindow,
): Promise<Reading<Progress>> => source.readProgress({ surveyId, sampleSourceId, window }, context)

/** More pages than any list of sources has. */
const PAGES_MAX = 500

export interface Listed {
  readonly sources: readonly SampleSource[]
  /** Sources that the service lists and that cannot be typed. */
  readonly rejectedIds: ReadonlySet<number>
}

export const readAllSources = async ({ source, context, surveyId }: OneSurvey): Promise<Listed> => {
  const rows: SampleSource[] = []
  const rejectedIds = new Set<number>()
  let next: number | null = 1
  while (next !== null && next <= PAGES_MAX) {
    const page: Awaited<ReturnType<SurveySource['listSampleSources']>> = await source.listSampleSources(
      surveyId,
      next,
      context,
    )
    rows.push(...page.rows)
    for (const { rowId } of page.rejections) if (rowId !== null) rejectedIds.add(rowId)
    next = page.pagination.next_page
  }
  return { sources: [...newestById(rows).values()], rejectedIds }
}

/** The fields of a source that the service has: from its list, or from the warehouse if the list leaves the source out. */
export type KnownSource = Pick<SampleSource, 'id' | 'sample_size' | 'updated_at'> & {
  readonly provider: string | null
}

const knownSource: z.ZodType<KnownSource> = z.object({
  id: z.number(),
  sample_size: z.number(),
  updated_at: z.bigint(),
  provider: z.string().nullable(),
})

/** The stored sources that the list lacks although they still answer. They have not gone. */
export const readLeftOut = async (
  comparison: OneSurvey,
  { sources, rejectedIds }: Listed,
): Promise<readonly KnownSource[]> => {
  const ids = new Set([...sources.map(({ id }) => id), ...rejectedIds])
  const leftOut: KnownSource[] = []
  for (const [id, { cells, missingSince }] of comparison.stored.sources)
    if (missingSince === null && !ids.has(id) && (await orGone(readProgress(comparison, id))) !== null)
      leftOut.push(parse(knownSource, cells, `the stored source ${id}`))
  return leftOut
}

/** Null after a 404. */
export const orGone = <Result>(reading: Promise<Result>): Promise<Result | null> =>
  reading.catch((error: unknown) => {
    if (error instanceof RefusedReadingError && error.kind === 'not_found') return null
    throw error
  })
