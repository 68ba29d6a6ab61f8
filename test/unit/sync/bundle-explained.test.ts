/** Sources are read until they explain the survey: which are read, when the reading stops, and that nothing wrong stays stored. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { INTERVIEW_STATUSES, type Progress } from '../../../src/model/fields.js'
import type { RefreshRules } from '../../../src/model/run.js'
import { RefusedReadingError } from '../../../src/model/survey-source.js'
import type { BundleOutcome } from '../../../src/model/warehouse.js'
import { type MemorySource, type MemorySurvey, memorySource } from '../../support/api/memory-source.js'
import { CASES_TIMEOUT_MS, cases } from '../../support/suite/cases.js'
import { SLOW } from '../../support/suite/slow.js'
import { minute } from '../../support/time/instants.js'
import { readAndCommit } from '../../support/warehouse/read-bundle.js'
import { list, source, survey as surveyRow } from '../../support/warehouse/rows.js'
import {
  all,
  asked,
  type Counts,
  counted,
  countsOf,
  differing,
  LIST,
  move,
  plus,
  sorted,
  summed,
  world,
} from '../../support/warehouse/summed-survey.js'
import { sharedWarehouse, type TestWarehouse } from '../../support/warehouse/warehouse.js'

const emptied = sharedWarehouse()
const emptyWarehouse = () => {
  untouched = null
  return emptied()
}

/** A warehouse that has only the first reading of a world with so many sources. */
let untouched: { readonly warehouse: TestWarehouse; readonly sources: number } | null = null

/** For a test of requests alone: what they answer is stored only in the slow suite, so the next test begins with the same warehouse. */
const ASKED = { commits: SLOW }

const DAY = 24 * 60

const readOnce = async (api: MemorySource, sources: number): Promise<TestWarehouse> => {
  if (untouched?.sources === sources) return untouched.warehouse
  const warehouse = await emptyWarehouse()
  await readAndCommit(warehouse, api)
  untouched = { warehouse, sources }
  return warehouse
}

const readTwice = async (
  edit: (survey: MemorySurvey, api: MemorySource) => void,
  {
    sources = 4,
    minutes = 60,
    ...options
  }: { sources?: number; minutes?: number } & Parameters<typeof readAndCommit>[2] = {},
) => {
  const { api, survey } = world(sources)
  const warehouse = await readOnce(api, sources)
  edit(survey, api)
  api.now = minute(minutes)
  if (options.commits !== false) untouched = null
  const { outcome, usage } = await readAndCommit(warehouse, api, options)
  return { warehouse, api, survey, outcome, usage }
}

describe('the reading of sources stops', () => {
  test.each<[string, Readonly<Record<number, Counts>>, number[]]>([
    ['after the only one that moved, if it has the most interviews', { 11: { complete: 3 } }, [11]],
    ['after two, of which one did not move', { 12: { complete: 3, screen_out: 1 } }, [11, 12]],
    ['after interviews that have changed their status', { 11: { pending_analysis: -2, complete: 2 } }, [11]],
    ['after counts that fell', { 12: { complete: -4, failed_quality_check: 4 } }, [11, 12]],
    [
      'not before opposite moves of two sources are both read',
      { 11: { complete: 1 }, 13: { complete: -1, screen_out: 1 } },
      [11, 12, 13],
    ],
    ['after the last, if that moved', { 14: { complete: 1 } }, [11, 12, 13, 14]],
  ])('%s', async (_, changes, read) => {
    const { warehouse, api, outcome } = await readTwice((survey) => move(survey, changes))
    expect(api.asked).toEqual(['progress 1', ...read.map((id) => `progress 1/${id}`)])
    expect(outcome).toMatchObject({ sourceProgressRead: read.length < 4 ? 'inferred' : 'all' })
    expect(await differing(warehouse, api)).toEqual([])
    const readAt = read.length < 4 ? '2026-03-01T00:00:00Z' : '2026-03-01T01:00:00Z'
    await warehouse.expectRows('SELECT source_progress_read_at, source_progress_proven_at FROM freshness', [
      [readAt, '2026-03-01T01:00:00Z'],
    ])
  })

  test('not before every count is explained, whichever it is', async () => {
    for (const status of INTERVIEW_STATUSES) {
      const edit = (survey: MemorySurvey) => move(survey, { 11: { complete: 1 }, 12: { [status]: 1 } })
      const { api } = await readTwice(edit, { sources: 3, ...ASKED })
      expect(asked(api), status).toEqual(['11', '12'])
    }
  })

  test('sooner if the sources that moved last are read first, and those are dated with their reading', async () => {
    const edit = (one: MemorySurvey) => move(one, { 14: { complete: 1 } })
    const { warehouse, api, survey } = await readTwice(edit, { minutes: DAY })
    api.now = minute(2 * DAY)
    move(survey, { 12: { complete: 1 } })
    await readAndCommit(warehouse, api)
    expect(asked(api)).toEqual(['14', '11', '12'])
    api.now = minute(3 * DAY)
    move(survey, { 12: { complete: 2 }, 14: { complete: 2 } })
    await readAndCommit(warehouse, api)
    expect(asked(api)).toEqual(['12', '14'])
    await warehouse.expectRows(
      `SELECT sample_source_id, confirmed_until FROM sample_source_progress_periods WHERE ended_at IS NULL ORDER BY 1`,
      [
        [11, '2026-03-02T00:00:00Z'],
        [12, '2026-03-04T00:00:00Z'],
        [13, '2026-03-02T00:00:00Z'],
        [14, '2026-03-04T00:00:00Z'],
      ],
    )
  })

  test('at once if only a text of the list has changed', async () => {
    const { warehouse, api } = await readTwice(
      (survey) => {
        survey.sources = survey.sources.map((one) => ({ ...one, name: 'renamed' }))
      },
      { reason: 'changed' },
    )
    expect(api.asked).toEqual([LIST, 'progress 1'])
    await warehouse.expectRows('SELECT DISTINCT name FROM sample_sources', [['renamed']])
  })

  test('after both targets that moved by opposite numbers, though the survey is unchanged', async () => {
    const { warehouse, api } = await readTwice(
      (survey) => {
        move(survey, { 12: { target: 50 }, 14: { target: -50 } })
        survey.sources = survey.sources.map((one) => ({
          ...one,
          sample_size: survey.sourceProgress[one.id]?.sample_size ?? 0,
        }))
      },
      { reason: 'changed' },
    )
    expect(asked(api)).toEqual(['12', '14'])
    expect(await differing(warehouse, api)).toEqual([])
  })

  test('after a new one, if it explains the survey', async () => {
    const { warehouse, api } = await readTwice(
      (survey) => {
        survey.sources.push(source(15))
        survey.sourceProgress[15] = counted({ complete: 4 }, { length_of_interview: 400 })
        summed(survey)
      },
      { reason: 'changed' },
    )
    expect(asked(api)).toEqual(['15'])
    expect(await differing(warehouse, api)).toEqual([])
  })

  test('in a survey without interviews, whenever its sources were read', async () => {
    const warehouse = await emptyWarehouse()
    const { api, survey } = world()
    for (const id of all()) survey.sourceProgress[id] = counted({})
    summed(survey)
    await readAndCommit(warehouse, api)
    survey.sources.push(source(15))
    move(survey, { 15: {} })
    api.now = minute(300 * DAY)
    await readAndCommit(warehouse, api, { reason: 'changed' })
    expect(api.asked).toEqual([LIST, 'progress 1', 'progress 1/15'])
    expect(await differing(warehouse, api)).toEqual([])
  })

  test('not while another source may explain a rate, though a new one is empty', async () => {
    const { warehouse, api } = await readTwice(
      (survey) => {
        survey.sources.push(source(15, { sample_size: 0 }))
        survey.sourceProgress[15] = counted({ target: 0 })
        survey.sourceProgress[12] = { ...survey.sourceProgress[12]!, drop_out_rate: 0.4 }
        survey.progress = { ...survey.progress!, drop_out_rate: 0.2 }
      },
      { reason: 'changed' },
    )
    expect(await differing(warehouse, api)).toEqual([])
  })

  test('not after a new one whose interviews the survey had before', async () => {
    const { api } = await readTwice(
      (survey) => {
        survey.sources.push(source(15))
        survey.sourceProgress[15] = counted({ complete: 4, target: 0 })
        survey.progress = counted(countsOf(survey.progress!), { drop_out_rate: 0.3 })
      },
      { reason: 'changed', ...ASKED },
    )
    expect(sorted(asked(api))).toEqual(all(5))
  })

  test.each([1, 51])('in a survey of %d sources', async (sources) => {
    const { api } = await readTwice((survey) => move(survey, { 11: { complete: 1 } }), {
      sources,
      reason: 'changed',
      ...ASKED,
    })
    expect(asked(api)).toEqual(['11'])
  })

  test('with as many interviews of no source as before', async () => {
    const { api } = await readTwice((survey) => move(survey, { 12: { complete: 1 } }), ASKED)
    expect(asked(api)).toEqual(['11', '12'])
    const warehouse = await emptyWarehouse()
    const { api: other, survey } = world()
    summed(survey, { target: 0, complete: 7, screen_out: 3 })
    await readAndCommit(warehouse, other)
    move(survey, { 11: { complete: 1 } })
    summed(survey, { target: 0, complete: 7, screen_out: 3 })
    await readAndCommit(warehouse, other)
    expect(asked(other)).toEqual(['11'])
  })
})

describe('all sources are read', () => {
  test('each week if their only interviews have a status that this version does not know', async () => {
    const warehouse = await emptyWarehouse()
    const { api, survey } = world(2)
    const swap = (first: number, second: number) => {
      const one = (count: number) => counted({}, { _extra: `{"new":${count}}` })
      survey.sourceProgress = { 11: one(first), 12: one(second) }
      summed(survey)
    }
    swap(3, 2)
    await readAndCommit(warehouse, api)
    swap(2, 3)
    api.now = minute(8 * DAY)
    await readAndCommit(warehouse, api)
    expect(asked(api)).toEqual(['11', '12'])
    expect(await differing(warehouse, api)).toEqual([])
  })

  const set = (change: Partial<Progress>) => (survey: MemorySurvey) => {
    survey.progress = { ...survey.progress!, ...change }
  }
  test.each<[string, (survey: MemorySurvey, api: MemorySource) => void]>([
    ['when only the length of interview has moved', set({ length_of_interview: 301 })],
    ['when only a rate has moved', set({ drop_out_rate: 0.5 })],
    ['when only a percentage has moved', set({ complete_percentage: 99 })],
    [
      'when a status that this version does not know has moved',
      set({ _extra: '{"interview_count_by_status":{"new":{"individuals":1}}}' }),
    ],
    ['when a count is null', set({ speeder_individuals: null })],
    [
      'when a count of a source was null',
      (survey) => {
        move(survey, { 11: { complete: 1 } })
        survey.sourceProgress[11] = { ...survey.sourceProgress[11]!, speeder_individuals: null }
      },
    ],
    [
      'when a count is beyond 2^53',
      set({ complete_individuals: 2 ** 53 + 2, interviews_count: 2 ** 53 + 2 }),
    ],
    ['when interviews belong to no source', (survey) => summed(survey, { target: 0, complete: 1 })],
    [
      'when interviews arrive between the answer of the survey and those of its sources',
      (survey, api) => {
        move(survey, { 11: { complete: 1 } })
        const before = survey.progress
        api.before = (request) => {
          if (request === 'progress 1/11') move(survey, { 11: { complete: 1 } })
          survey.progress = before
        }
      },
    ],
    [
      'when the answer of a source cannot be typed',
      (survey) => {
        move(survey, { 11: { complete: 1 } })
        survey.sourceProgress[11] = null
      },
    ],
    [
      'when a source is refused',
      (survey, api) => {
        move(survey, { 11: { complete: 1 } })
        api.before = (request) => {
          if (request === 'progress 1/11') throw new RefusedReadingError('forbidden', 'source 11: 403')
        }
      },
    ],
    ...(['forbidden', 'not_found', 'rejected'] as const).map(
      (kind): [string, (survey: MemorySurvey, api: MemorySource) => void] => [
        `when the third source is ${kind}`,
        (survey, api) => {
          move(survey, { 14: { complete: 1 } })
          api.before = (request) => {
            if (request === 'progress 1/13') throw new RefusedReadingError(kind, 'source 13')
          }
        },
      ],
    ),
  ])('%s', async (_, edit) => {
    const { api } = await readTwice(edit, ASKED)
    expect(sorted([...new Set(asked(api))])).toEqual(all())
  })

  test.each<[string, Parameters<typeof readTwice>[1]]>([
    ['when the full reading of all sources is due', { minutes: 7 * DAY }],
    ['when the survey was not listed', { reason: 'missing' }],
    ['without skip_unchanged', { refresh: { skip_unchanged: false } }],
    ['with days', { refresh: { daily_windows: { days: 1, time_zone: 'UTC', sources: false } } }],
  ])('%s', async (_, options) => {
    const { api, warehouse } = await readTwice((survey) => move(survey, { 11: { complete: 1 } }), options)
    expect(sorted(asked(api))).toEqual(all())
    await warehouse.expectRows('SELECT source_progress_read_at = source_progress_proven_at FROM freshness', [
      [true],
    ])
  })

  test('when one has gone', async () => {
    const removed = await readTwice((survey) => {
      survey.sources.pop()
      delete survey.sourceProgress[14]
      summed(survey)
    })
    expect(removed.api.asked.filter((request) => request === LIST)).toHaveLength(1)
    expect(await differing(removed.warehouse, removed.api)).toEqual([])
  })
})

test('an interview that comes between two answers can hide one of another source, but only until the next reading', async () => {
  const { warehouse, api } = await readTwice(
    (survey, api) => {
      move(survey, { 12: { complete: 1 } })
      let isFirst = true
      api.before = (request) => {
        if (isFirst && request === 'progress 1/11') move(survey, { 11: { complete: 1 } })
        isFirst &&= request !== 'progress 1/11'
      }
    },
    { minutes: DAY },
  )
  expect(asked(api)).toEqual(['11'])
  expect(await differing(warehouse, api)).toEqual([12])
  api.before = () => undefined
  api.now = minute(2 * DAY)
  await readAndCommit(warehouse, api)
  expect(await differing(warehouse, api)).toEqual([])
})

test('a run that is stopped between two sources stores nothing of the survey, and the next one reads it', async () => {
  const stopped = (survey: MemorySurvey, api: MemorySource) => {
    move(survey, { 11: { complete: 1 }, 12: { complete: 1 } })
    api.before = (request) => {
      if (request === 'progress 1/12') throw new StoppedError('stopped by SIGTERM')
    }
  }
  const { api, survey } = world()
  const warehouse = await emptyWarehouse()
  await readAndCommit(warehouse, api)
  stopped(survey, api)
  api.now = minute(DAY)
  await expect(readAndCommit(warehouse, api)).rejects.toThrow('stopped by SIGTERM')
  await warehouse.expectRows('SELECT refreshed_at = source_progress_proven_at, refreshed_at FROM freshness', [
    [true, '2026-03-01T00:00:00Z'],
  ])
  expect(await differing(warehouse, api)).toEqual([11, 12])
  api.before = () => undefined
  await readAndCommit(warehouse, api)
  expect(await differing(warehouse, api)).toEqual([])
})

test('the requests that were sent and those that were saved are all that the survey has', async () => {
  const { usage } = await readTwice((survey) => move(survey, { 12: { complete: 1 } }), ASKED)
  expect(usage).toEqual([
    { kind: 'sample_sources', reason: 'active', requests: 0, saved: 1 },
    { kind: 'survey_progress', reason: 'active', requests: 1, saved: 0 },
    { kind: 'sample_source_progress', reason: 'active', requests: 2, saved: 2 },
  ])
})

test('pace and daily progress of the sources are the same as if all had been read', async () => {
  const warehouse = await emptyWarehouse()
  const { survey } = world()
  const api = memorySource({ 1: survey, 2: survey })
  await list(warehouse.account, [surveyRow(1), surveyRow(2, { title: 'Survey 1' })], minute(0), 'full')
  let [read, readOfAll] = [0, 0]
  for (let night = 0; night < 12; night += 1) {
    if (night > 0) move(survey, { [11 + (night % 4)]: { complete: 1 + (night % 3) } })
    api.now = minute(night * DAY)
    await readAndCommit(warehouse, api)
    read += api.asked.length
    await readAndCommit(warehouse, api, { surveyId: 2, refresh: { skip_unchanged: false } })
    readOfAll += api.asked.length
  }
  expect(read).toBeLessThan(readOfAll)
  for (const view of ['sample_source_pace', 'source_progress_daily']) {
    const of = (surveyId: number) =>
      warehouse.rows(`SELECT * EXCLUDE (survey_id) FROM ${view} WHERE survey_id = ${surveyId} ORDER BY ALL`)
    const rows = await of(1)
    expect(rows.length, view).toBeGreaterThan(3)
    expect(rows, view).toEqual(await of(2))
  }
})

test('after a failure in which only the list was stored, a target that its progress lacks is read', async () => {
  const swap = (survey: MemorySurvey, api: MemorySource) => {
    move(survey, { 12: { target: 50 }, 14: { target: -50 } })
    survey.sources = survey.sources.map((one) => ({
      ...one,
      sample_size: survey.sourceProgress[one.id]?.sample_size ?? 0,
    }))
    api.before = (request) => {
      if (request === 'progress 1') throw new RefusedReadingError('forbidden', 'survey 1: 403')
    }
  }
  const { warehouse, api } = await readTwice(swap, { reason: 'changed' })
  expect(await differing(warehouse, api)).toEqual([12, 14])
  api.before = () => undefined
  await readAndCommit(warehouse, api, { reason: 'changed', isTouched: true, isLeftOver: true })
  expect(asked(api)).toEqual(['12', '14'])
  expect(await differing(warehouse, api)).toEqual([])
})

test('the sources are read side by side once nothing can explain the survey any more', async () => {
  const { warehouse, api, survey } = { warehouse: await emptyWarehouse(), ...world(20) }
  await readAndCommit(warehouse, api)
  move(survey, { 12: { complete: 1 } })
  survey.sourceProgress[11] = null
  let [underWay, most] = [0, 0]
  const given = api.readProgress
  const readProgress: typeof given = async (query, context) => {
    underWay += 1
    most = Math.max(most, underWay)
    const reading = await given(query, context)
    await new Promise((resolve) => setImmediate(resolve))
    underWay -= 1
    return reading
  }
  await readAndCommit(warehouse, { ...api, readProgress })
  expect(most).toBe(8)
})

describe('the list of sources', () => {
  test('is read once, and the progress of the survey too, if its new target is the sum of the list', async () => {
    const { warehouse, api } = await readTwice((survey) => {
      survey.sources[1] = source(12, { sample_size: 150 })
      move(survey, { 12: { target: 50 } })
    })
    expect(api.asked).toEqual(['progress 1', LIST, 'progress 1/12'])
    expect(await differing(warehouse, api)).toEqual([])
  })

  test('is read once, and the progress again, if the new target is not the sum of the list', async () => {
    const { api } = await readTwice((survey) => {
      summed(survey, { target: 33 })
    }, ASKED)
    expect(api.asked.slice(0, 3)).toEqual(['progress 1', LIST, 'progress 1'])
    expect(api.asked.filter((request) => request === LIST)).toHaveLength(1)
    expect(sorted(asked(api))).toEqual(all())
  })

  const renamed = (survey: MemorySurvey) => {
    survey.sources[0] = source(11, { name: 'renamed' })
  }
  test.each<[string, string[], (survey: MemorySurvey) => void, Partial<RefreshRules>]>([
    [
      'is not read if interviews explain the touch',
      ['progress 1', 'progress 1/11'],
      (survey) => move(survey, { 11: { complete: 1 } }),
      {},
    ],
    ['is read after the progress if nothing explains the touch', ['progress 1', LIST], renamed, {}],
    [
      'is read first if it is old',
      [LIST, 'progress 1', 'progress 1/11'],
      (survey) => move(survey, { 11: { complete: 1 } }),
      { list_sources_every: 0 },
    ],
  ])('of a survey of which only updated_at moved %s', async (_, requests, edit, refresh) => {
    const { api } = await readTwice(edit, { reason: 'changed', isTouched: true, refresh, ...ASKED })
    expect(api.asked).toEqual(requests)
  })
})

test('the progress is read once if only a touch is unexplained, though the target of the survey is its own', async () => {
  const { warehouse, api, survey } = { warehouse: await emptyWarehouse(), ...world() }
  summed(survey, { target: 7 })
  await readAndCommit(warehouse, api)
  survey.sources[0] = source(11, { name: 'renamed' })
  await readAndCommit(warehouse, api, { reason: 'changed', isTouched: true })
  expect(api.asked).toEqual(['progress 1', LIST])
})

/** Moves of a night, by the place of a source; a source that is not there yet is added. */
const change = fc.record({
  place: fc.nat(7),
  status: fc.constantFrom(...INTERVIEW_STATUSES),
  other: fc.constantFrom(...INTERVIEW_STATUSES),
  count: fc.integer({ min: -3, max: 3 }),
  kind: fc.constantFrom(
    'count',
    'move',
    'swap',
    'target',
    'targets',
    'add',
    'remove',
    'rename',
    'others',
    'null',
    'unknown',
  ),
})
type Change = typeof change extends fc.Arbitrary<infer Drawn> ? Drawn : never

const apply = (survey: MemorySurvey, one: Change, others: Counts): Counts => {
  const id = 11 + one.place
  const next = 11 + ((one.place + 1) % 8)
  const has = (some: number) => survey.sources.some((listed) => listed.id === some)
  const by = (some: number, counts: Counts) => {
    const row = survey.sourceProgress[some]
    if (row == null || !has(some)) return
    const sums = plus(countsOf(row), { target: 0, ...counts })
    survey.sourceProgress[some] = counted(sums, { _extra: row._extra })
    survey.sources = survey.sources.map((listed) =>
      listed.id === some ? { ...listed, sample_size: sums.target ?? 0 } : listed,
    )
  }
  switch (one.kind) {
    case 'count':
      by(id, { [one.status]: one.count })
      break
    case 'move':
      by(id, { [one.status]: -one.count })
      by(id, { [one.other]: one.count })
      break
    case 'swap':
      if (!has(id) || !has(next)) break
      by(id, { [one.status]: one.count })
      by(next, { [one.status]: -one.count })
      break
    case 'target':
      by(id, { target: 10 * one.count })
      break
    case 'targets':
      if (!has(id) || !has(next)) break
      by(id, { target: 10 * one.count })
      by(next, { target: -10 * one.count })
      break
    case 'add':
      if (has(id)) break
      survey.sources.push(source(id))
      survey.sourceProgress[id] = counted({ complete: Math.abs(one.count) })
      break
    case 'remove':
      survey.sources = survey.sources.filter((listed) => listed.id !== id)
      delete survey.sourceProgress[id]
      break
    case 'rename':
      survey.sources = survey.sources.map((listed) =>
        listed.id === id ? { ...listed, name: `N${one.count}` } : listed,
      )
      break
    case 'null':
      if (survey.sourceProgress[id] != null)
        survey.sourceProgress[id] = { ...survey.sourceProgress[id], speeder_individuals: null }
      break
    case 'unknown':
      if (survey.sourceProgress[id] != null)
        survey.sourceProgress[id] = {
          ...survey.sourceProgress[id],
          _extra: `{"new":${1 + Math.abs(one.count)}}`,
        }
      break
    case 'others':
      return plus(others, { target: 0, [one.status]: one.count })
  }
  return others
}

const night = fc.record({
  changes: fc.array(change, { maxLength: 4 }),
  reason: fc.constantFrom('active', 'active', 'changed'),
  days: fc.constantFrom(1, 1, 1, 3),
  /** A source that interviews reach after the survey was read, by its place. */
  racing: fc.option(fc.nat(7), { nil: null, freq: 4 }),
})

/** Interviews of no source come in one night, and are those of a source in the next: then that source alone moves unseen. */
const MOVE = { place: 0, status: 'complete', other: 'complete' } as const
const CANCELLED: [number, (typeof night extends fc.Arbitrary<infer Drawn> ? Drawn : never)[]] = [
  3,
  [
    { changes: [{ ...MOVE, kind: 'others', count: 2 }], reason: 'active', days: 1, racing: null },
    {
      changes: [
        { ...MOVE, kind: 'others', count: -2 },
        { ...MOVE, kind: 'count', place: 2, count: 2 },
        { ...MOVE, kind: 'count', status: 'screen_out', count: 1 },
      ],
      reason: 'active',
      days: 1,
      racing: null,
    },
  ],
]

const differ = (one: Counts, other: Counts): boolean =>
  INTERVIEW_STATUSES.some((status) => (one[status] ?? 0) !== (other[status] ?? 0))

const extentOf = (outcome: BundleOutcome) =>
  outcome.kind === 'refreshed' ? outcome.sourceProgressRead : 'none'

/** The counts in which these sources, taken together, differ from the API: none if they moved by opposite numbers, so never one source alone. */
const unexplained = async (
  warehouse: TestWarehouse,
  survey: MemorySurvey,
  surveyId: number,
  ids: readonly number[],
) => {
  const rows = await warehouse.rows(
    `FROM sample_source_progress WHERE survey_id = ${surveyId} AND _missing_since IS NULL`,
  )
  const names = [
    'sample_size',
    ...INTERVIEW_STATUSES.map((status) => `${status}_individuals` as const),
  ] as const
  const sumOf = (count: (id: number) => unknown) => ids.reduce((sum, id) => sum + Number(count(id) ?? 0), 0)
  return names.filter((name) => {
    const stored = sumOf((id) => rows.find((row) => Number(row.sample_source_id) === id)?.[name])
    return stored !== sumOf((id) => survey.sourceProgress[id]?.[name])
  })
}

const checkHidden = async (
  warehouse: TestWarehouse,
  api: MemorySource,
  { surveyId, canHide, isListed }: { surveyId: number; canHide: boolean; isListed: boolean },
) => {
  const survey = api.surveys.get(surveyId)!
  const hidden = await differing(warehouse, api, surveyId)
  if (!canHide) expect(await unexplained(warehouse, survey, surveyId, hidden)).toEqual([])
  const inList = new Set(survey.sources.map(({ id }) => id))
  if (isListed) expect(hidden.filter((id) => !inList.has(id))).toEqual([])
}

const atFirstSource = (api: MemorySource, surveyId: number, act: () => void) => {
  let isFirst = true
  api.before = (request) => {
    if (!(isFirst && request.startsWith(`progress ${surveyId}/`))) return
    isFirst = false
    act()
  }
}

/** With days, a survey that changed has all of its sources read. */
const READS_ALL = { daily_windows: { days: 1, time_zone: 'UTC', sources: false } }

test('a source that was not read equals the API, or cancels out with another one until all are read, which costs no more', {
  timeout: CASES_TIMEOUT_MS,
}, async () => {
  const warehouse = await emptyWarehouse()
  let surveyId = 1
  await fc.assert(
    fc.asyncProperty(fc.nat(8), fc.array(night, { minLength: 1, maxLength: 5 }), async (sources, nights) => {
      surveyId += 1
      const { survey } = world(sources)
      const api = memorySource({ [surveyId]: survey })
      let others: Counts = { target: 0 }
      // Since all sources were last read: interviews of no source moved, or some came between two answers. Then a source alone can be hidden.
      let canHide = false
      let minutes = 0
      const read = async (options: Parameters<typeof readAndCommit>[2]) => {
        api.now = minute(minutes)
        return await readAndCommit(warehouse, api, { surveyId, ...options })
      }
      await read({})
      for (const { changes, reason, days, racing } of nights) {
        const before = others
        for (const one of changes) others = apply(survey, one, others)
        canHide ||= differ(before, others)
        summed(survey, others)
        minutes += days * DAY
        await read({ reason, refresh: READS_ALL, commits: false })
        const requestsOfAll = api.asked.filter((request) => !request.includes(' on ')).length
        let raced = false
        const race = (place: number) => {
          raced = true
          others = apply(survey, { ...MOVE, kind: 'count', place, count: 1 }, others)
        }
        if (racing !== null) atFirstSource(api, surveyId, () => race(racing))
        const { outcome } = await read({ reason })
        api.before = () => undefined
        if (!raced) expect(api.asked.length).toBeLessThanOrEqual(requestsOfAll)
        canHide ||= raced
        // A count that the survey leaves out says nothing about its sources.
        if (raced || survey.progress?.speeder_individuals === null) continue
        const extent = extentOf(outcome)
        canHide &&= extent !== 'all'
        if (outcome.kind === 'refreshed' && extent === 'inferred')
          await checkHidden(warehouse, api, { surveyId, canHide, isListed: outcome.sourcesRead === 'all' })
      }
      // Nothing moves any more. The weekly reading of all sources repairs what was hidden.
      summed(survey, others)
      minutes += 8 * DAY
      await read({})
      expect(await differing(warehouse, api, surveyId)).toEqual([])
    }),
    { ...cases(4, 1_000), examples: [CANCELLED] },
  )
})
