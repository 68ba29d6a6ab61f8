/**
 * An organization that changes from night to night in every way that the API document allows. Surveys and sources are
 * created, change, vanish, come back and move; status and dates go back; interviews come in, change and are ignored.
 * Its answers depend on its state alone, so a test can read the truth at any time.
 */
import { INTERVIEW_STATUSES } from '../api/api-document.js'
import type { JsonObject } from '../api/reference-api.js'
import { type Json, type ScriptedSurvey, scriptedSource, scriptedSurvey } from '../api/scripted-api.js'
import type { Chance } from '../suite/chance.js'

const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
const ID_MAX = Number.MAX_SAFE_INTEGER
const [SURVEYS_MIN, SURVEYS_MAX] = [4, 16]

type SurveyRow = ScriptedSurvey['survey']
type SourceRow = ScriptedSurvey['sources'][number]

interface Interview {
  readonly startMs: number
  status: string
  readonly seconds: number
}

interface Source {
  row: SourceRow
  interviews: Interview[]
}

interface Survey {
  row: SurveyRow
  readonly sources: Source[]
  /** Interviews that belong to no listed source. */
  readonly loose: Interview[]
  /** Whether the service still sends the deprecated rate. */
  sendsDeprecated: boolean
}

export interface Organization {
  readonly shown: Survey[]
  readonly eventCounts: ReadonlyMap<string, number>
  /** Makes the changes of one night. Surveys vanish only before a night with a full listing. */
  change(nowMs: number, night: { readonly listsAll: boolean }): void
}

const STATUSES = [
  'draft',
  'pending',
  'fieldwork',
  'fieldwork',
  'fieldwork',
  'deviating_from_specs',
  'data_processing',
  'complete',
  'complete',
  'user_demo',
]
const TITLES = [
  'Plain',
  '',
  '  spaces around  ',
  'Ünïcödé, 日本語, עברית, 👩‍👩‍👧',
  `quotes ' " \` and \\ and ; -- /* */`,
  'line\nfeed\r\nand\ttab',
  '\u0000\u0001\u001f\u007f\u2028\ufeff',
  'null',
  '{"json": [1, 2]}',
  '=1+1',
  'é'.normalize('NFD'),
  'x'.repeat(5_000),
]
const PROJECTS = [null, null, '', 'P-1', 'null', "o'clock"]
const PROVIDERS = ['panel', 'client_sample', 'social_networks', 'data_import']
const COUNTRIES = ['FR', 'DE', 'GB', 'JP', 'ZZ']
const ENDS = ['complete', 'complete', 'complete', 'incomplete', 'screen_out', 'quota_full', 'speeder']

/** A survey that gets no interviews. Each of its changes also changes its row, or a sync has no reason to read it. */
const isIdle = ({ row }: Survey): boolean => row.status === 'draft' || row.status === 'user_demo'

export const isActive = (survey: Survey): boolean => !isIdle(survey) && survey.row.status !== 'complete'

export const createOrganization = (lots: Chance): Organization => {
  const { oneOf, below, fraction } = lots
  const shown: Survey[] = []
  const away: Survey[] = []
  const awaySources: Source[] = []
  const usedIds = new Set<number>()
  const eventCounts = new Map<string, number>()
  const count = (event: string, times = 1): void => {
    eventCounts.set(event, (eventCounts.get(event) ?? 0) + times)
  }
  const happens = (probability: number): boolean => fraction() < probability

  const newId = (): number => {
    for (;;) {
      const id = oneOf([1 + below(500), ID_MAX - below(8), 2 ** 31 + below(9), 10 ** 12 + below(1_000)])
      if (!usedIds.has(id)) return usedIds.add(id) && id
    }
  }

  /** A time in one of the ISO 8601 forms that a service may write, to the microsecond. */
  const written = (ms: number): string => {
    const [offset, aheadMs] = oneOf([
      ['Z', 0],
      ['+00:00', 0],
      ['+02:00', 2 * HOUR_MS],
      ['-03:30', -3.5 * HOUR_MS],
    ] as const)
    const local = new Date(ms + aheadMs).toISOString().slice(0, -5)
    return `${local}${oneOf(['', '.5', '.123', '.999999'])}${offset}`
  }

  const touch = ({ row }: Survey, nowMs: number): void => {
    // A time within the last minutes, later than the previous night and not later than this one.
    row.updated_at = written(nowMs - 1_000 - below(20) * 60_000)
  }

  const newSource = (nowMs: number): Source => ({
    row: scriptedSource(newId(), written(nowMs - 30_000), {
      provider: oneOf(PROVIDERS),
      sample_size: oneOf([0, 1, 100, 250, ID_MAX]),
      country_code: oneOf(COUNTRIES),
      name: oneOf(TITLES),
      panelist_id_required: happens(0.5),
    }),
    interviews: [],
  })

  const create = (nowMs: number): void => {
    const id = newId()
    const createdAt = written(nowMs - oneOf([0, 1, 40, 400]) * DAY_MS - 60_000)
    const { survey: row } = scriptedSurvey(id, { title: oneOf(TITLES), project_id: oneOf(PROJECTS) }, 0)
    const survey: Survey = {
      row: {
        ...row,
        created_at: createdAt,
        status: oneOf(STATUSES),
        owner_organization_id: oneOf([0, 1, ID_MAX]),
        respondent_questions_count: oneOf([0, 12, ID_MAX]),
        transition_style: oneOf(['single_page', 'multiple_pages']),
      },
      sources: Array.from({ length: below(4) }, () => newSource(nowMs)),
      loose: [],
      sendsDeprecated: happens(0.7),
    }
    touch(survey, nowMs)
    shown.push(survey)
  }

  const answer = (survey: Survey, nowMs: number): void => {
    const interviews = [survey.loose, ...survey.sources.map((source) => source.interviews)]
    for (let more = below(12); more >= 0; more -= 1) {
      // Most interviews are from the last day; older ones were imported later. Many start on the hour, such as midnight.
      const agoMs = happens(0.9) ? below(48) * (HOUR_MS / 2) : below(20) * DAY_MS
      oneOf(interviews).push({
        startMs: Math.floor((nowMs - agoMs) / (HOUR_MS / 2)) * (HOUR_MS / 2),
        status: oneOf(ENDS),
        seconds: 60 + below(1_200),
      })
    }
    const some = oneOf(interviews)
    const [first] = some
    if (first !== undefined && happens(0.5))
      first.status = oneOf(['complete', 'straightliner', 'failed_quality_check'])
    // An ignored interview leaves every count.
    if (happens(0.3)) some.shift()
  }

  /** Removes a random element and returns it in a list; the list is empty when there is none. */
  const takeOne = <Thing>(things: Thing[]): Thing[] =>
    things.length === 0 ? [] : things.splice(below(things.length), 1)

  const events: Readonly<Record<string, (survey: Survey, nowMs: number) => void>> = {
    title: ({ row }) => Object.assign(row, { title: oneOf(TITLES) }),
    project: ({ row }) => Object.assign(row, { project_id: oneOf(PROJECTS) }),
    status: ({ row }) => Object.assign(row, { status: oneOf(STATUSES) }),
    counts: ({ row }) =>
      Object.assign(row, { respondent_iterations_count: below(99), hashid: `h${below(99)}` }),
    // The survey moves to another month, and so to another partition and another place in the listing.
    'date of creation': ({ row }, nowMs) =>
      Object.assign(row, { created_at: written(nowMs - below(300) * DAY_MS - 60_000) }),
    'source added': ({ sources }, nowMs) => sources.push(newSource(nowMs)),
    'source removed': ({ sources }) => awaySources.push(...takeOne(sources)),
    'source back, here or elsewhere': ({ sources }) => sources.push(...takeOne(awaySources)),
    'source moved': (survey) => {
      const other = oneOf(shown)
      const moved = takeOne(survey.sources)
      other.sources.push(...moved)
      count('source moved to another survey', other === survey ? 0 : moved.length)
    },
    'source changed': ({ sources }, nowMs) => {
      const [source] = sources
      if (source === undefined) return
      source.row = { ...source.row, name: oneOf(TITLES), updated_at: written(nowMs), sample_size: below(500) }
    },
    'sources in another order': ({ sources }) => sources.reverse(),
    'deprecated rate': (survey) => {
      survey.sendsDeprecated = !survey.sendsDeprecated
    },
  }

  const happen = (nowMs: number): void => {
    const survey = oneOf(shown)
    const event = oneOf(Object.keys(events))
    events[event]?.(survey, nowMs)
    count(event)
    touch(survey, nowMs)
    // An idle survey may have received the source of another survey.
    for (const one of shown) if (isIdle(one)) touch(one, nowMs)
  }

  const comeBack = (nowMs: number): void => {
    for (const survey of takeOne(away)) {
      touch(survey, nowMs)
      shown.push(survey)
      count('survey back')
    }
  }

  const changeUnlisted = (nowMs: number): void => {
    if (shown.length > SURVEYS_MIN && happens(0.5)) {
      away.push(...takeOne(shown))
      count('survey gone')
    }
    // An incremental listing does not show a survey whose date goes back.
    if (happens(0.4)) {
      oneOf(shown).row.updated_at = written(nowMs - (2 + below(300)) * DAY_MS)
      count('date back')
    }
  }

  return {
    shown,
    eventCounts,
    change: (nowMs, { listsAll }) => {
      if (shown.length < SURVEYS_MAX && happens(shown.length < SURVEYS_MIN ? 1 : 0.3)) create(nowMs)
      for (const survey of shown) if (!isIdle(survey) && happens(0.6)) answer(survey, nowMs)
      for (let more = below(4); more > 0; more -= 1) happen(nowMs)
      if (happens(0.25)) comeBack(nowMs)
      if (listsAll) changeUnlisted(nowMs)
    },
  }
}

export const scriptedOf = (survey: Survey): ScriptedSurvey => ({
  survey: survey.row,
  sources: survey.sources.map(({ row }) => row),
  progress: progressOfSurvey(survey, null),
  sourceProgress: Object.fromEntries(
    survey.sources.map(({ row }) => [row.id, progressOfSurvey(survey, row.id)]),
  ),
})

/** Everything about one survey, in the form of the reference server's truth. */
export const truthOf = (survey: Survey): JsonObject => {
  const { survey: row, sources, progress, sourceProgress } = scriptedOf(survey)
  // An omitted rate is null.
  const whole = (one: Json | undefined): Json => ({ incidence_rate: null, ...one })
  return {
    ...row,
    sample_sources: sources,
    fieldwork_progress: whole(progress),
    sample_source_progress: Object.fromEntries(sources.map(({ id }) => [id, whole(sourceProgress[id])])),
  }
}

/** The progress of a survey (null) or a source, over the interviews whose start `includes` accepts. */
export const progressOfSurvey = (
  { row, sources, loose, sendsDeprecated }: Survey,
  sourceId: number | null,
  includes: (startMs: number) => boolean = () => true,
): Json => {
  const counted = sourceId === null ? sources : sources.filter((source) => source.row.id === sourceId)
  const interviews = [...counted.flatMap((source) => source.interviews), ...(sourceId === null ? loose : [])]
  const target = counted.reduce((sum, source) => sum + Number(source.row.sample_size), 0)
  return progressIn(
    interviews.filter(({ startMs }) => includes(startMs)),
    { target: Math.min(target, ID_MAX), sendsDeprecated: sendsDeprecated && row.status !== 'complete' },
  )
}

/** Fieldwork progress by the formulas of the API document ("Fieldwork progress"). */
const progressIn = (
  interviews: readonly Interview[],
  { target, sendsDeprecated }: { readonly target: number; readonly sendsDeprecated: boolean },
): Json => {
  const count = (...statuses: readonly string[]): number =>
    interviews.filter(({ status }) => statuses.includes(status)).length
  const complete = count('complete')
  const incidence = rate(complete, count('complete', 'screen_out'))
  const lengths = interviews
    .filter(({ status }) => status === 'complete')
    .map(({ seconds }) => seconds)
    .toSorted((one, other) => one - other)
  return {
    sample_size: target,
    interviews_count: complete,
    interview_count_by_status: Object.fromEntries(
      INTERVIEW_STATUSES.map((status) => [
        status,
        { individuals: count(status), percentage: rate(100 * count(status), interviews.length) },
      ]),
    ),
    completion_rate: rate(complete, target),
    questionnaire_incidence_rate: rate(complete, count('complete', 'screen_out', 'quota_full', 'incomplete')),
    target_incidence_rate: incidence,
    ...(sendsDeprecated ? { incidence_rate: incidence } : {}),
    drop_out_rate: rate(count('incomplete'), interviews.length),
    length_of_interview: lengths[Math.floor(lengths.length / 2)] ?? null,
  }
}

/** A rate over zero is null. */
const rate = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)
