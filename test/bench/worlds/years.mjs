/** An organization after years of nights: surveys begin one after the other and close after 60 days; and the API of its next night. */
import { DuckDBInstance } from '@duckdb/node-api'
import * as tables from '../../../dist/model/tables.js'
import { begun, ended, openHistory } from './history.mjs'

const LIFE_DAYS = 60
const DAYS_A_YEAR = 365

/** The options of `openHistory`. `readings` are the readings of a day. */
export const yearsOf = ({ years, aYear, readings, sources = 5 }) => {
  const newest = `TIMESTAMPTZ '${new Date(Date.now() - 86_400_000).toISOString()}'`
  const world = {
    ...{ surveys: Math.round(years * aYear), sources, newest, createdOver: 0, versions: [1, 1] },
    ...{ nights: LIFE_DAYS * readings, begunIn: years * DAYS_A_YEAR * readings, apart: 1 / readings },
    individuals: (night, status) =>
      `${night} * (1 + hash(survey, place, '${status}') % 9) + hash(survey, place, ${night}, '${status}') % 3`,
    ...{ rates: 1e9, targets: [600 * readings, 120 * readings], runs: years * DAYS_A_YEAR },
  }
  // A closed survey is read 1, 2, 4, 8 … days after its end, and at last once a year.
  const closed = `((${ended(world) - 1} - ${begun(world)}) // ${readings} - ${LIFE_DAYS})`
  const ago = `CASE WHEN ${closed} < 1 THEN 0 WHEN ${closed} < 512 THEN ${closed} - 2 ** floor(log2(${closed})) ELSE (${closed} - 512) % 365 END`
  return {
    ...world,
    status: `CASE WHEN ${begun(world)} + ${world.nights} < ${ended(world)} THEN 'complete' ELSE 'fieldwork' END`,
    readAt: `(${newest} - to_days(CAST(${ago} AS INTEGER)))`,
  }
}

/** Writes the work database into the directory. */
export const buildYears = async (directory, world) => {
  const database = await openHistory(directory, world)
  const end = `created_at + INTERVAL ${LIFE_DAYS} DAYS`
  const versioned = tables.surveysHistory.columns
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('valid'))
  await database.transaction(async (sql) => {
    await sql.run(
      `UPDATE main.surveys SET updated_at = ${end}, _synced_at = ${end} WHERE status = 'complete'`,
    )
    await sql.run(
      `UPDATE main.surveys_history SET status = 'fieldwork', valid_to = ${end} WHERE status = 'complete'`,
    )
    await sql.run(`INSERT INTO main.surveys_history BY NAME SELECT ${versioned.join(', ')}, updated_at AS valid_from
      FROM main.surveys WHERE status = 'complete'`)
    await sql.run(`INSERT INTO main.survey_forecasts BY NAME SELECT account, survey_id, "day", max(observed_at) AS made_at,
      max(interviews_count) AS interviews_count, any_value(sample_size) AS sample_size, 10.0 AS per_day, "day" + 30 AS expected_on,
      "day" + 20 AS expected_from, "day" + 40 AS expected_to FROM main.survey_progress_history GROUP BY ALL`)
    await sql.run(`INSERT INTO _sync.requests BY NAME SELECT run_id, account, a.reason, b.kind, 100 AS made, 40 AS saved FROM _sync.runs,
      (VALUES ('active'), ('changed'), ('inactive')) a(reason), (VALUES ('sample_sources'), ('survey_progress'), ('sample_source_progress')) b(kind)`)
  })
  await database.close()
}

const PAGE_SIZE = 50

/**
 * The API after the newest observation of a work database: a day's surveys are new, those of 60 days ago have closed, and each source of
 * the others has new interviews. `answer` returns the body for a URL.
 */
export const openNight = async (file, { surveys, sources, nights, begunIn, apart }) => {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' })
  const connection = await instance.connect()
  await connection.run(`SET TimeZone = 'UTC'`)
  const stored = async (table, where) => {
    const cells = table.columns
      .filter(({ name }) => !/^_|^account$|^survey_id$|^sample_source_id$/.test(name))
      .map(({ name, type }) =>
        type === 'TIMESTAMPTZ' ? `strftime(${name}, '%Y-%m-%dT%H:%M:%S.%fZ') AS ${name}` : name,
      )
    const sql = `SELECT to_json(t) FROM (SELECT ${cells.join(', ')} FROM main.${table.name} WHERE ${where}) t`
    return (await connection.runAndReadAll(sql)).getRows().map(([json]) => JSON.parse(json))
  }
  const now = new Date().toISOString()
  const begunOf = (id) => Math.floor(((id - 1) * begunIn) / surveys)
  const isLiving = (id) => begunOf(id) + nights >= begunIn
  const isClosing = (id) => isLiving(id) && begunOf(id) + nights < begunIn + 1 / apart
  const known = Array.from({ length: surveys }, (_, at) => at + 1)
  const aDay = Math.ceil(surveys * (1 / apart / begunIn))
  const all = [...known, ...Array.from({ length: aDay }, (_, at) => surveys + at + 1)]
  /** A new survey has what one of three days ago has. */
  const like = (id) => (id > surveys ? id - 3 * aDay : id)
  const survey = async (id) => {
    const [row] = await stored(tables.surveys, `id = ${like(id)}`)
    if (id > surveys) return { ...row, id, title: `Survey ${id}`, created_at: now, updated_at: now }
    return isClosing(id) ? { ...row, status: 'complete', updated_at: now } : row
  }
  const progress = async (id, source) => {
    const place = source === null ? null : Number(source) % 100
    const [row] =
      place === null
        ? await stored(tables.surveyProgress, `survey_id = ${like(id)}`)
        : await stored(
            tables.sampleSourceProgress,
            `survey_id = ${like(id)} AND sample_source_id = ${100 * like(id) + place}`,
          )
    const gains = Array.from({ length: sources }, (_, at) => at + 1)
    const gain = isLiving(id) ? (place === null ? gains.reduce((sum, one) => sum + one) : gains[place]) : 0
    return { fieldwork_progress: moved(row, gain) }
  }
  return {
    answer: async ({ pathname, searchParams }) => {
      const id = Number(/surveys\/(\d+)/.exec(pathname)?.[1])
      if (pathname.endsWith('/surveys')) {
        const ids = searchParams.has('updated_since')
          ? all.filter((one) => one > surveys || isClosing(one))
          : all
        return await paged('surveys', ids, Number(searchParams.get('page') ?? 1), survey)
      }
      if (pathname.endsWith('/fieldwork_progress'))
        return await progress(id, searchParams.get('sample_source_id'))
      if (!pathname.endsWith('/sample_sources')) return { survey: await survey(id) }
      const rows = await stored(tables.sampleSources, `survey_id = ${like(id)} ORDER BY id`)
      return await paged('sample_sources', rows, 1, (row) => ({ ...row, id: 100 * id + (row.id % 100) }))
    },
    close: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

/** The answer of the API for a stored row of progress with so many more complete interviews. */
const moved = (row, gain) => {
  const entries = Object.entries(row)
  const statuses = entries
    .filter(([name]) => name.endsWith('_individuals'))
    .map(([name, individuals]) => {
      const status = name.slice(0, -'_individuals'.length)
      const more = status === 'complete' ? gain : 0
      return [status, { individuals: individuals + more, percentage: row[`${status}_percentage`] }]
    })
  return {
    ...Object.fromEntries(entries.filter(([name]) => !/_individuals$|_percentage$/.test(name))),
    interviews_count: row.interviews_count + gain,
    interview_count_by_status: Object.fromEntries(statuses),
  }
}

const paged = async (name, items, page, rowOf) => {
  const pages = Math.max(1, Math.ceil(items.length / PAGE_SIZE))
  const rows = []
  for (const item of items.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)) rows.push(await rowOf(item))
  return {
    [name]: rows,
    pagination: {
      ...{ current_page: page, total_pages: pages, total_count: items.length },
      ...{ next_page: page < pages ? page + 1 : null, prev_page: page > 1 ? page - 1 : null },
    },
  }
}
