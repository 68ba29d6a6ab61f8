/** Nights whose lists leave surveys or sources out. */
import { asObjects } from '../../support/api/reference-api.js'
import type { NightCheck } from './end.js'
import type { Queryable, Violation } from './row-text.js'

/** P1 and P4: one short list marks no survey as missing, and a run does not pass over what the list leaves out. */
export const shortListed = async (
  { world, account, start: { shortList }, ended: { exitCode } }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  if (shortList === null) return []
  const present = (await world.surveys()).map(({ id }) => Number(id))
  const marked = await reader.query(
    `SELECT id FROM main.surveys WHERE account = '${account}' AND _missing_since IS NOT NULL AND id IN (${present.join(', ')})`,
  )
  return [
    ...marked.map(({ id }) => `P1: survey ${id} is marked as missing after one short list`),
    ...(exitCode === 0 ? ['P4: exit 0, but the list leaves surveys out'] : []),
  ]
}

/** The same for each list of sources that the run received. A few sources that are not found have gone. */
export const withoutSources = async (
  { world, account, start: { shortSources }, ended: { exitCode }, receivedBefore }: NightCheck,
  reader: Queryable,
): Promise<Violation[]> => {
  if (shortSources === null) return []
  const received = world.received.slice(receivedBefore)
  const stored = await reader.query(
    `SELECT id, _missing_since IS NOT NULL AS missing FROM main.sample_sources WHERE account = '${account}'`,
  )
  const hidden = (await world.surveys()).flatMap(({ id: surveyId, sample_sources: sources }) => {
    const lists = received.filter(({ path }) => path.endsWith(`/surveys/${surveyId}/sample_sources`))
    if (lists.length === 0) return []
    const present = new Set(idsOf(sources))
    const listed = new Set(lists.flatMap(({ body }) => idsOf(body.sample_sources)))
    const leftOut = stored.filter(({ id }) => present.has(Number(id)) && !listed.has(Number(id)))
    return shortSources.othersAnswer || leftOut.length > FEW ? leftOut : []
  })
  return [
    ...hidden
      .filter(({ missing }) => missing === true)
      .map(({ id }) => `P1: source ${id} is marked as missing after one short list`),
    ...(exitCode === 0 && hidden.length > 0 ? ['P4: exit 0, but a list of sources leaves sources out'] : []),
  ]
}

const FEW = 10

const idsOf = (rows: unknown): readonly number[] => asObjects(rows).map(({ id }) => Number(id))
