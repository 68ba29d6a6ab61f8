/** The sample sources of one survey, each with the progress that the service restricts to it. */
import { integerOf } from '../json.js'
import { Unseen } from '../unseen.js'
import type { ProgressReading, Reader } from './reader.js'
import type { Subject } from './subjects.js'

export interface SourceReading {
  readonly sourceId: number
  /** As the list of sources has it. */
  readonly sampleSize: number
  readonly progress: ProgressReading
}

export interface SourceReadings {
  readonly subject: Subject
  readonly readings: readonly [SourceReading, ...SourceReading[]]
}

const SOURCES_MAX = 3

export const readSource = (reader: Reader, surveyId: number, sourceId: number): Promise<ProgressReading> =>
  reader.progress(surveyId, [['sample_source_id', String(sourceId)]])

/** Throws `Unseen` where no survey has a source that can be read. */
export const readSources = async (reader: Reader, subjects: readonly Subject[]): Promise<SourceReadings> => {
  const [subject] = subjects
    .filter(({ sources }) => sources.rows.length > 0)
    .sort((one, other) => worth(other) - worth(one))
  if (subject === undefined) throw new Unseen('no survey with sample sources has been seen')
  const readings: SourceReading[] = []
  for (const row of subject.sources.rows.slice(0, SOURCES_MAX)) {
    const [sourceId, sampleSize] = [integerOf(row.id), integerOf(row.sample_size)]
    if (sourceId === null || sampleSize === null) continue
    readings.push({ sourceId, sampleSize, progress: await readSource(reader, subject.id, sourceId) })
  }
  const [first, ...more] = readings
  if (first === undefined) throw new Unseen('no source has an id and a sample_size that can be read')
  return { subject, readings: [first, ...more] }
}

/** Several sources show the most, then interviews, then a survey that changes no more. */
const worth = ({ progress, sources, status }: Subject): number =>
  (sources.rows.length > 1 ? 4 : 0) + ((progress.total ?? 0) > 0 ? 2 : 0) + (status === 'complete' ? 1 : 0)
