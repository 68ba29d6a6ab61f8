/**
 * `npm run bench:views`: reads the views of a warehouse with 1,200 surveys of five sources and a year of daily history, three times
 * each. It prints the rows of each view, the shortest time and the least CPU. The argument is another number of surveys.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { ALL_VIEWS } from '../../build/warehouse/views/all.js'
import { openYear } from './views/year.mjs'

const SURVEYS = Number(process.argv[2] ?? 1_200)
const SOURCES_EACH = 5
const TIMES = 3
/** These have a row or more for each observation, and people read a part of them. */
const WHOLE_HISTORY = ['survey_progress_periods', 'sample_source_progress_periods', 'progress_daily']

const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-views-'))
const database = await openYear(directory, { surveys: SURVEYS, sources: SOURCES_EACH })
try {
  console.log('view                                   rows  seconds  CPU seconds')
  for (const { name } of ALL_VIEWS.filter(({ name }) => !WHOLE_HISTORY.includes(name))) {
    const times = []
    for (let time = 0; time < TIMES; time += 1) times.push(await read(name))
    const [{ rows }] = await database.exclusively((sql) =>
      sql.rows(z.object({ rows: z.number() }), 'SELECT count(*) AS rows FROM temp.read'),
    )
    const [wall, cpu] = [0, 1].map((at) => Math.min(...times.map((time) => time[at])).toFixed(2))
    console.log([name.padEnd(32), String(rows).padStart(9), wall.padStart(7), cpu.padStart(11)].join('  '))
  }
} finally {
  await database.close()
  await rm(directory, { recursive: true, force: true })
}

/** Wall time and CPU time of a reading, in seconds. */
async function read(view) {
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  await database.exclusively((sql) => sql.run(`CREATE OR REPLACE TEMP TABLE read AS FROM main.${view}`))
  const { user, system } = process.cpuUsage(cpu)
  return [(performance.now() - began) / 1_000, (user + system) / 1e6]
}
