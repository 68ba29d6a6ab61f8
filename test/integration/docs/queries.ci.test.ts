import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { NAMED_QUERIES } from '../../../src/commands/query/named.js'
import { INTERVIEW_STATUSES } from '../../support/api/api-document.js'
import { runWarm } from '../../support/command/warm.js'
import type { SurveyRows } from '../../support/oracle/truth.js'
import { ALL_CASES, some } from '../../support/suite/cases.js'
import type { Reader, Row } from '../../support/warehouse/duckdb.js'
import { dateOf, fourNights, NIGHTS, nightAt } from '../../support/warehouse/four-nights.js'
import { asText, page, QUERIES, queriesOfOtherPages, sqlOf } from './queries.js'

const world = fourNights()

/** The last night before the week that the forecast uses. */
const WEEK_AGO = 2

const on = (day: number, id: number): SurveyRows => {
  const rows = world()
    .nights.find((night) => night.day === day)
    ?.surveys.get(id)
  if (rows === undefined) throw new Error(`no survey ${id} on day ${day}`)
  return rows
}
const lastNight = (): [number, SurveyRows][] => [...(world().nights.at(-1)?.surveys ?? [])]
const count = ({ interviews_count }: Row) => Number(interviews_count)

const runQuery = async (title: string, reader: Reader = world().reader): Promise<Row[]> =>
  reader.query(sqlOf(title))

test('the page has exactly the queries that these tests run', () => {
  expect([...QUERIES.keys()]).toEqual(NAMED_QUERIES.map(({ title }) => title))
  expect([...QUERIES.keys()]).toEqual([
    'What needs action',
    'The surveys today',
    'Fieldwork pace by day',
    'Fieldwork pace by source and day',
    'Gains by country and day',
    'Sources behind target',
    'Forecast of completion',
    'Forecasts of two weeks before',
    'Incidence and drop-out against the past',
    'As sold',
    'Changes of the last day',
    'Status changes',
    'Interviews by source and country',
    'Incidence and drop-out by source',
    'Incidence and drop-out by provider',
    'Quality of the sources',
    'Status timeline',
    'Surveys gone stale',
    'In the field, but nothing moves',
    'Interviews by start day',
    'The last runs',
  ])
  expect(page.match(/```sql/g)).toHaveLength(QUERIES.size)
})

/** The day of fieldwork that a night shows: the one before it. */
const fieldworkOf = (day: number): string => (day === 0 ? '2026-02-28' : dateOf(day - 1))

/** Complete interviews by the day on which they started, as the API counted them. */
const startedOn = async (id: number): Promise<ReadonlyMap<string, number>> => {
  const rows = await world().reader.query(
    `SELECT "day"::VARCHAR AS "day", interviews_count FROM survey_progress_by_day WHERE sample_source_id IS NULL AND survey_id = ${id}`,
  )
  return new Map(rows.map((row) => [String(row.day), count(row)]))
}

test('pace: the query shows the interviews that started on each day, also on days that were not read', async () => {
  const rows = await world().reader.query(asText('Fieldwork pace by day', ['day']))
  const surveys = world().inField
  expect(surveys.length).toBeGreaterThan(2)
  for (const id of surveys) {
    const started = await startedOn(id)
    const expected = Array.from({ length: 10 }, (_, day) => ({
      account: world().server.accounts[0]?.name,
      survey_id: id,
      title: on([...NIGHTS].at(-1) ?? 0, id).survey.title,
      day: fieldworkOf(day),
      interviews: count(on(nightOf(day), id).progress),
      gained: started.get(fieldworkOf(day)),
      gained_days: 1,
    }))
    expect(rows.filter(({ survey_id }) => survey_id === id)).toEqual(expected)
  }
  expect(rows.some(({ gained }) => Number(gained) > 0)).toBe(true)
})

test('the sum over all surveys has the last known interviews of each, also after a survey has ended', async () => {
  const { reader } = world()
  const daily = await reader.query(
    'SELECT survey_id, "day"::VARCHAR AS "day", interviews_count FROM progress_daily ORDER BY "day"',
  )
  const [known, ofRows, expected] = [new Map(), new Map(), new Map()]
  for (const { survey_id, day, interviews_count } of daily) {
    known.set(survey_id, interviews_count)
    ofRows.set(day, (ofRows.get(day) ?? 0) + interviews_count)
    expected.set(
      day,
      [...known.values()].reduce((sum, interviews) => sum + interviews, 0),
    )
  }
  const [[, sql] = []] = queriesOfOtherPages().filter(([, text]) => text.includes('sum(sum(change))'))
  expect(await reader.query(`SELECT * REPLACE ("day"::VARCHAR AS "day") FROM (${sql})`)).toEqual(
    [...expected].map(([day, interviews]) => ({ day, interviews })),
  )
  expect([...expected].at(-1)).not.toEqual([...ofRows].at(-1))
})

test('the state at a past moment is what the service showed on that night', async () => {
  const [[, sql = ''] = []] = queriesOfOtherPages().filter(([, text]) => text.includes('AS moment'))
  for (const { day, surveys } of world().nights.slice(0, -1)) {
    const at = sql.replace(/'2026-[^']+'/, `'${dateOf(day)} 12:00:00+00'`)
    const expected = [...surveys].map(([survey_id, { survey, progress }]) => ({
      survey_id,
      status: survey.status,
      interviews_count: progress.interviews_count,
      sample_size: progress.sample_size,
    }))
    expect(
      await world().reader.query(`SELECT survey_id, status, interviews_count, sample_size FROM (${at})`),
    ).toEqual(expected.toSorted((one, other) => one.survey_id - other.survey_id))
  }
})

test('gains by country: on each day, the countries and the row without one add up to the gain of the survey', async () => {
  const { reader } = world()
  const rows = await reader.query(asText('Gains by country and day', ['day']))
  const added = new Map<string, number>()
  for (const { survey_id, day, gained } of rows) {
    const key = `${survey_id} ${day}`
    added.set(key, (added.get(key) ?? 0) + Number(gained))
  }
  const gains = await reader.query(
    'SELECT survey_id, "day"::VARCHAR AS "day", gained FROM progress_daily WHERE gained IS NOT NULL AND gained <> 0',
  )
  expect(gains.length).toBeGreaterThan(10)
  for (const { survey_id, day, gained } of gains)
    expect([day, added.get(`${survey_id} ${day}`)]).toEqual([day, gained])
  expect(new Set(rows.map(({ country }) => country === null))).toEqual(new Set([true, false]))
})

test('sources behind target: the query lists sources that are less complete than their survey', async () => {
  const expected = lastNight().flatMap(([id, { survey, progress, sources, sourceProgress }]) =>
    ['fieldwork', 'deviating_from_specs'].includes(String(survey.status)) && id !== world().failing
      ? sources.flatMap((source, place) => {
          const [reached, target] = [count(sourceProgress[place] as Row), Number(source.sample_size)]
          const completed = reached / target
          const whole = count(progress) / Number(progress.sample_size)
          return completed < whole
            ? [
                {
                  survey_id: id,
                  source_id: source.id,
                  behind: Math.ceil((target * count(progress)) / Number(progress.sample_size)) - reached,
                },
              ]
            : []
        })
      : [],
  )
  const rows = (await runQuery('Sources behind target')).filter(
    ({ survey_id }) => survey_id !== world().failing,
  )
  expect(rows.map(({ survey_id, source_id, behind }) => ({ survey_id, source_id, behind }))).toEqual(
    expected.toSorted(
      (a, b) => b.behind - a.behind || a.survey_id - b.survey_id || Number(a.source_id) - Number(b.source_id),
    ),
  )
  expect(rows.length).toBeGreaterThan(2)
})

/** The days until the sources of a survey, at the pace of the last week and each stopped at its own target, have so many interviews. */
const daysTo = (id: number, target: number): number | null => {
  const sources = on(9, id).sources.map(({ id: source, sample_size }, place) => {
    const now = count(on(9, id).sourceProgress[place] ?? {})
    const before = on(WEEK_AGO, id).sources.findIndex((one) => one.id === source)
    const gained = now - count(on(WEEK_AGO, id).sourceProgress[before] ?? {})
    return { now, perDay: gained / 7, stop: Math.max(now, Number(sample_size)) }
  })
  for (let day = 1; day <= 3650; day += 1) {
    const reached = sources.reduce(
      (sum, { now, perDay, stop }) => sum + Math.min(stop, now + perDay * day),
      0,
    )
    if (reached >= target - 1e-6) return day
  }
  return null
}

test('forecast: the query continues the pace of the last week, and gives no date without a pace', async () => {
  const rows = await world().reader.query(
    asText('Forecast of completion', ['expected', 'earliest', 'latest']),
  )
  for (const id of world().inField) {
    const [before, now] = [on(WEEK_AGO, id).progress, on(9, id).progress]
    const gained = count(now) - count(before)
    const missing = Number(now.sample_size) - count(now)
    const days =
      now.sample_size === 0
        ? null
        : missing <= 0
          ? 0
          : gained > 0
            ? daysTo(id, Number(now.sample_size))
            : null
    const row = rows.find(({ survey_id }) => survey_id === id)
    expect(row).toMatchObject({
      account: world().server.accounts[0]?.name,
      survey_id: id,
      interviews: count(now),
      target: now.sample_size,
      pace_days: 7,
      per_day: Math.round((10 * gained) / 7) / 10,
      title: on(9, id).survey.title,
      reached: days === 0,
      expected: days === null ? null : new Date(Date.UTC(2026, 2, 9 + days)).toISOString().slice(0, 10),
    })
    const [from, to] = [row?.earliest ?? null, row?.latest ?? null]
    // Days before the first night have daily gains.
    if (days === null || days === 0) expect([from, to]).toEqual([row?.expected, row?.expected])
    else expect(from === null || from <= String(row?.expected), `interval of ${id}`).toBe(true)
  }
  expect(rows.some(({ expected }) => expected !== null && expected !== '2026-03-09')).toBe(true)
  expect(rows.some(({ expected }) => expected === null)).toBe(true)
  expect(rows.some(({ earliest, expected }) => earliest !== null && earliest !== expected)).toBe(true)
})

test('forecast: a survey that was last read on the third night has that of this night, with a pace from before the first', async () => {
  const rows = await runQuery('Forecast of completion')
  const failing = rows.find(({ survey_id }) => survey_id === world().failing)
  const days = Number(failing?.pace_days)
  expect(days).toBeGreaterThan(2)
  const [before] = await world().reader.query(
    `SELECT interviews_count FROM survey_progress_reconstructed
      WHERE survey_id = ${world().failing} AND as_of = TIMESTAMPTZ '${nightAt(2)}' - to_hours(${24 * days})`,
  )
  const gained = count(on(2, world().failing).progress) - count(before ?? {})
  expect(failing?.per_day).toBe(Math.round((10 * gained) / days) / 10)
})

test('against the past: the query compares the interviews of the last week with those before', async () => {
  const rows = await runQuery('Incidence and drop-out against the past')
  const rate = (part: number, rest: number) =>
    part < 0 || rest < 0 || part + rest === 0 ? null : part / (part + rest)
  for (const id of world().inField) {
    const [before, now] = [on(WEEK_AGO, id).progress, on(9, id).progress]
    const grown = (status: string) =>
      Number(now[`${status}_individuals`]) - Number(before[`${status}_individuals`])
    const dropped = grown('incomplete')
    const [recent, recentDropOut] = [
      rate(grown('complete'), grown('screen_out')),
      rate(dropped, interviewsIn(now) - interviewsIn(before) - dropped),
    ]
    const row = rows.find(({ survey_id }) => survey_id === id)
    if (recent === null && recentDropOut === null) expect(row).toBe(undefined)
    else
      expect(row).toMatchObject({
        gained: grown('complete'),
        incidence: recent,
        incidence_before: before.target_incidence_rate,
        drop_out: recentDropOut,
        drop_out_before: before.drop_out_rate,
      })
  }
  expect(rows.length).toBeGreaterThan(2)
})

/** The plan has all surveys but the last. */
const cpiOf = (id: number): number | null => {
  const all = [...(world().nights[0]?.surveys.keys() ?? [])]
  return id === all.at(-1) ? null : id === all[0] ? 4.5 : 3.8
}
const inCents = (amount: number): number => Math.round(amount * 100) / 100

test('as sold: the query has incidence, length and cost beside what was sold for all surveys but the last', async () => {
  const all = [...(world().nights[0]?.surveys.keys() ?? [])]
  const rows = await runQuery('As sold')
  expect(rows.map(({ survey_id }) => survey_id)).not.toContain(all.at(-1))
  for (const id of world().inField) {
    if (id === world().unlisted || id === all.at(-1)) continue
    const { progress, sourceProgress } = on(NIGHTS.at(-1) ?? 0, id)
    const cpi = cpiOf(id) ?? 0
    const interviews = sourceProgress.reduce((sum, one) => sum + count(one), 0)
    expect(rows.find(({ survey_id }) => survey_id === id)).toMatchObject({
      sold: 0.01,
      incidence: progress.target_incidence_rate,
      sold_minutes: 60,
      minutes:
        progress.length_of_interview === null
          ? null
          : Math.round(Number(progress.length_of_interview) / 6) / 10,
      interviews: progress.interviews_count,
      cost: inCents(interviews * cpi),
      at_target: interviews === 0 ? null : inCents(cpi * Number(progress.sample_size)),
      currency: 'EUR',
    })
  }
})

test('changes: the query lists what changed between the last two nights', async () => {
  const rows = (await runQuery('Changes of the last day')).filter(({ source_id }) => source_id === null)
  const [before, now] = world()
    .nights.slice(-2)
    .map(({ surveys }) => surveys)
  const expected = [...(now ?? [])].flatMap(([id, { survey }]) => {
    const old = before?.get(id)?.survey
    if (id === world().failing) return []
    if (old === undefined) return [`${id} added`]
    return Object.keys(survey)
      .filter((name) => name !== 'updated_at' && survey[name] !== old[name])
      .map((name) => `${id} ${name} ${old[name]} -> ${survey[name]}`)
  })
  expect(
    rows
      .map(({ survey_id, change, from_value, to_value }) =>
        change === 'added' ? `${survey_id} added` : `${survey_id} ${change} ${from_value} -> ${to_value}`,
      )
      .toSorted(),
  ).toEqual(expected.toSorted())
  expect(rows.length).toBeGreaterThan(2)
})

const interviewsIn = (progress: Row) =>
  INTERVIEW_STATUSES.reduce((sum, status) => sum + Number(progress[`${status}_individuals`]), 0)

/** Surveys whose sources were read on the last night. */
const surveysReadLast = (): [number, SurveyRows][] =>
  lastNight().filter(([id, { survey }]) => id !== world().failing && survey.status !== 'complete')

test('incidence and drop-out: the queries give the rates of each source, and pooled rates by provider and country', async () => {
  const bySource = await runQuery('Incidence and drop-out by source')
  for (const [id, { sources, sourceProgress, survey }] of surveysReadLast()) {
    if (survey.status === 'draft' || survey.status === 'user_demo') continue
    const expected = sources.map((source, place) => {
      const p = sourceProgress[place] as Row
      return {
        source_id: source.id,
        provider: source.provider,
        interviews: interviewsIn(p),
        incidence: p.target_incidence_rate,
        drop_out: p.drop_out_rate,
      }
    })
    const actual = bySource
      .filter(({ survey_id }) => survey_id === id)
      .map(({ source_id, provider, interviews, incidence, drop_out }) => ({
        source_id,
        provider,
        interviews,
        incidence,
        drop_out,
      }))
      .toSorted((a, b) => Number(a.source_id) - Number(b.source_id))
    expect(actual).toEqual(expected)
  }
  const byProvider = await runQuery('Incidence and drop-out by provider')
  const stored = await world().reader.query(
    `SELECT s.provider, s.country_code, p.* FROM sample_sources s
      JOIN sample_source_progress p ON p.survey_id = s.survey_id AND p.sample_source_id = s.id`,
  )
  for (const row of byProvider) {
    const sources = stored.filter((p) => p.provider === row.provider && p.country_code === row.country)
    const sum = (value: (p: Row) => number) => sources.reduce((total, p) => total + value(p), 0)
    const [complete, incomplete] = [
      sum((p) => Number(p.complete_individuals)),
      sum((p) => Number(p.incomplete_individuals)),
    ]
    const [targets, all] = [complete + sum((p) => Number(p.screen_out_individuals)), sum(interviewsIn)]
    expect(row).toMatchObject({
      surveys: new Set(sources.map(({ survey_id }) => survey_id)).size,
      sources: sources.length,
      complete,
      incidence: targets === 0 ? null : complete / targets,
      drop_out: all === 0 ? null : incomplete / all,
    })
  }
  expect(byProvider.length).toBeGreaterThan(2)
})

test('status timeline: the query shows the statuses from night to night', async () => {
  const expected = lastNight()
    .map(([id]) => id)
    .flatMap((id) => {
      const seen = world().nights.flatMap(({ day, surveys }) => {
        const status = surveys.get(id)?.survey.status
        return status === undefined ? [] : [{ status, since: nightAt(day) }]
      })
      const changes = seen.filter(({ status }, place) => status !== seen[place - 1]?.status)
      return changes.map((change, place) => ({
        survey_id: id,
        ...change,
        until: changes[place + 1]?.since ?? null,
      }))
    })
  const rows = (await runQuery('Status timeline')).map(({ survey_id, status, since, until }) => ({
    survey_id,
    status,
    // Two versions never have the same time: a second reading in the same second is stored a microsecond later.
    since: String(since).replace(/\.0+[1-9]\d*Z$/, 'Z'),
    until: until === null ? null : String(until).replace(/\.0+[1-9]\d*Z$/, 'Z'),
  }))
  expect(rows).toEqual(expected.toSorted((a, b) => a.survey_id - b.survey_id))
  expect(rows.some(({ until }) => until !== null)).toBe(true)
})

test('stale: the query lists surveys that were not read completely on the last night, with the error', async () => {
  const interval = 'behind = INTERVAL 7 DAYS AS is_a_week, behind = INTERVAL 0 DAYS AS is_nothing'
  const rows = await world().reader.query(
    `SELECT * EXCLUDE (behind), ${interval} FROM (${sqlOf('Surveys gone stale')})`,
  )
  expect(rows).toMatchObject([
    {
      survey_id: world().failing,
      status: 'fieldwork',
      refreshed_at: nightAt(2),
      last_error: expect.stringContaining('422'),
      is_a_week: true,
    },
    {
      survey_id: world().unlisted,
      refreshed_at: nightAt(9),
      last_error: expect.stringMatching(/422.*sample_sources|sample_sources.*422/),
      is_nothing: true,
    },
  ])
})

test('nothing moves: the query lists surveys in the field that have not changed for at least three days', async () => {
  const unchanged = world().inField.filter(
    (id) => JSON.stringify(on(9, id).progress) === JSON.stringify(on(2, id).progress),
  )
  const rows = await runQuery('In the field, but nothing moves')
  expect(rows.map(({ survey_id }) => survey_id).toSorted()).toEqual(unchanged.toSorted())
  expect(rows.length).toBeGreaterThan(0)
  for (const { survey_id, unchanged_since } of rows) {
    const id = Number(survey_id)
    const text = JSON.stringify(on(9, id).progress)
    const since = NIGHTS.filter((_, place) =>
      NIGHTS.slice(place).every((day) => JSON.stringify(on(day, id).progress) === text),
    )[0]
    expect(unchanged_since).toBe(nightAt(since ?? 0))
  }
})

test('interviews by start day: the query gives the counts of the API for that day', async () => {
  const rows = await world().reader.query(asText('Interviews by start day', ['day']))
  const [moved] = world().inField.filter((id) => count(on(9, id).progress) > count(on(2, id).progress))
  const own = rows.filter(({ survey_id }) => survey_id === moved)
  expect(own.map(({ day, is_final }) => `${day} ${is_final ? 'final' : 'open'}`)).toEqual(
    ['2026-02-28', ...Array.from({ length: 10 }, (_, day) => dateOf(day))].map(
      (day) => `${day} ${day >= '2026-03-09' ? 'open' : 'final'}`,
    ),
  )
  const [account] = world().server.accounts
  for (const { day, interviews, drop_out } of own.slice(-3)) {
    const response = await fetch(
      `${world().server.baseUrl}/surveys/${moved}/fieldwork_progress?started_after=${day}T00:00:00Z&started_before=${day}T23:59:59Z`,
      { headers: { 'Authorization-ID': String(account?.id), 'Authorization-Token': account?.token ?? '' } },
    )
    expect(await response.json()).toMatchObject({
      fieldwork_progress: { interviews_count: interviews, drop_out_rate: drop_out },
    })
  }
})

test('the last runs: the query shows a partial last run and the time of the last complete one', async () => {
  expect(await runQuery('The last runs')).toEqual([
    {
      account: world().server.accounts[0]?.name,
      last_complete_at: expect.any(String),
      last_status: 'partial',
      last_reason: expect.stringContaining('2 surveys'),
      left_over: 2,
    },
  ])
})

// The four questions of an analyst, asked with the command. Each reads one view.

const asked = async (...args: readonly string[]): Promise<readonly Row[]> => {
  const env = { FIELDWORK_SYNC_WAREHOUSE: world().warehouse }
  const { code, stdout, stderr } = await runWarm(['query', ...args, '--json'], env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(NAMED_QUERIES.find(({ name }) => name === args[0])?.sql.match(/\b(FROM|JOIN)\b/g)).toEqual(['FROM'])
  return JSON.parse(stdout)
}

/** The night whose reading a day shows. */
const nightOf = (day: number): number => [...NIGHTS].filter((night) => night <= day).at(-1) ?? 0
const LAST_WEEK = [3, 4, 5, 6, 7, 8, 9]

/** One shows it. */
const tried = <Id>(ids: readonly Id[]) => some(ids, 1)

test('an analyst: how did a survey go on each day of the last week?', async () => {
  for (const id of tried(world().inField)) {
    const started = await startedOn(id)
    const rows = await asked(
      'pace-by-day',
      '--survey',
      `${world().server.accounts[0]?.name}/${id}`,
      '--days',
      '7',
    )
    expect(rows).toEqual(
      LAST_WEEK.map((day) => ({
        account: world().server.accounts[0]?.name,
        survey_id: id,
        title: on(9, id).survey.title,
        day: fieldworkOf(day),
        interviews: count(on(nightOf(day), id).progress),
        gained: started.get(fieldworkOf(day)),
        gained_days: 1,
      })),
    )
  }
})

test('an analyst: which statuses changed since the night before?', async () => {
  const expected = lastNight().flatMap(([id, { survey }]) => {
    const before = world().nights.at(-2)?.surveys.get(id)?.survey.status
    return before === undefined || before === survey.status || id === world().failing
      ? []
      : [`${id} ${before} -> ${survey.status}`]
  })
  const rows = await asked('status-changes', '--days', '1')
  const changes = rows.map(
    ({ survey_id, from_status, to_status }) => `${survey_id} ${from_status} -> ${to_status}`,
  )
  expect(changes.toSorted()).toEqual(expected.toSorted())
  expect(rows.length).toBeGreaterThan(0)
})

test('quality of the sources: rejects, undecided interviews, full quotas, length and cost of each source in the field', async () => {
  const rows = await runQuery('Quality of the sources')
  const inField = surveysReadLast().filter(([, { survey }]) =>
    ['fieldwork', 'deviating_from_specs'].includes(String(survey.status)),
  )
  const percent = (part: number, whole: number) =>
    whole === 0 ? null : Math.round((1000 * part) / whole) / 10
  for (const [id, { sources, sourceProgress }] of inField) {
    const cpi = cpiOf(id)
    const expected = sources.map((source, place) => {
      const p = sourceProgress[place] as Row
      const sum = (...statuses: readonly string[]) =>
        statuses.reduce((total, status) => total + Number(p[`${status}_individuals`] ?? 0), 0)
      const rejected = sum('speeder', 'straightliner', 'failed_quality_check', 'inappropriate_language')
      return {
        source_id: source.id,
        complete: sum('complete'),
        rejected_pct: percent(rejected, rejected + sum('complete')),
        undecided: sum('manual_action', 'pending_analysis'),
        quota_full_pct: percent(sum('quota_full'), Number(interviewsIn(p))),
        minutes: p.length_of_interview === null ? null : Math.round(Number(p.length_of_interview) / 6) / 10,
        cost_per_good:
          cpi === null || sum('complete') === 0
            ? null
            : inCents((cpi * (sum('complete') + rejected)) / sum('complete')),
        currency: cpi === null ? null : 'EUR',
        supplier: null,
      }
    })
    const found = rows
      .filter(({ survey_id }) => survey_id === id)
      .map(({ account: _, survey_id: __, title: ___, name: ____, ...row }) => row)
    expect(found.toSorted((a, b) => Number(a.source_id) - Number(b.source_id))).toEqual(expected)
  }
  expect(rows.some(({ rejected_pct }) => Number(rejected_pct) > 0)).toBe(true)
})

test('an analyst: how many interviews has each source, in which country, and on which day of the last week?', async () => {
  const today = await asked('interviews-by-source')
  for (const [id, { sources, sourceProgress, survey }] of surveysReadLast()) {
    if (survey.status === 'draft' || survey.status === 'user_demo') continue
    const inOrder = today.filter(({ survey_id }) => survey_id === id)
    const expected = sources.map((source, place) => [
      source.id,
      source.country_code,
      sourceProgress[place]?.interviews_count,
    ])
    expect(new Set(inOrder.map((row) => [row.source_id, row.country, row.interviews].join()))).toEqual(
      new Set(expected.map((cells) => cells.join())),
    )
  }
  for (const id of tried(world().inField.filter((one) => one !== world().unlisted))) {
    const rows = await asked('source-pace-by-day', '--survey', String(id), '--days', '7')
    const { sources } = on(9, id)
    const known = sources.filter(({ id: source }) => on(2, id).sources.some((one) => one.id === source))
    for (const { id: source, country_code } of known) {
      const countOn = (day: number) => {
        const night = on(nightOf(day), id)
        const place = night.sources.findIndex((one) => one.id === source)
        return Number(night.sourceProgress[place]?.interviews_count)
      }
      expect(rows.filter(({ source_id }) => source_id === source)).toMatchObject(
        // Days of sources are not read. Nobody knows on which day without a reading a source has changed.
        LAST_WEEK.filter((day) => day === 9 || countOn(9) === countOn(2)).map((day) => ({
          country: country_code,
          day: fieldworkOf(day),
          interviews: countOn(day),
          gained: countOn(day) - countOn(day - 1),
        })),
      )
    }
    expect(known.length).toBeGreaterThan(0)
  }
})

test('at 80 columns, the result of every query is a table, with the account only where there are several', async () => {
  const env = { FIELDWORK_SYNC_WAREHOUSE: world().warehouse }
  const answer = async (...args: readonly string[]) => (await runWarm(['query', ...args], env)).stdout
  for (const { name, title, note = '' } of some(NAMED_QUERIES, 2)) {
    const table = await answer(name)
    const [head = '', rule = '', first = ''] = table.split('\n')
    expect(rule, `${name} is a table`).toMatch(/^-+( {2}-+)+$/)
    expect(first, `${name} has rows`).not.toBe('')
    expect(Math.max(...table.split('\n').map((line) => stringWidth(line))), name).toBeLessThanOrEqual(80)
    // What the table leaves out is named below it.
    const below = table.slice(table.lastIndexOf('\n(')).replaceAll(/\s+/g, ' ')
    const leftOut = /no room for ([\w, ]+?)(?:, and|:)/.exec(below)?.[1]?.split(', ') ?? []
    const columns = await world().reader.query(`DESCRIBE ${sqlOf(title)}`)
    expect(new Set(['account', ...head.trim().split(/ +/), ...leftOut]), name).toEqual(
      new Set(columns.map(({ column_name }) => column_name)),
    )
    expect(head, name).not.toMatch(/\baccount\b/)
    expect(below).toContain(note)
  }
  expect(await answer('SELECT account, id FROM surveys')).toMatch(/^account {2}/)
})

test('the queries of the other pages run on a published file', async () => {
  const queries = queriesOfOtherPages()
  for (const [name, sql] of queries)
    await world()
      // To describe a result shows that the names are right, in a fifth of the time. The full suite runs them.
      .reader.query(ALL_CASES ? sql : `DESCRIBE ${sql}`)
      .catch((error: unknown) => expect.fail(`${name}: ${sql}\n${String(error)}`))
  expect(new Set(queries.map(([name]) => name)).size).toBeGreaterThan(8)
})
