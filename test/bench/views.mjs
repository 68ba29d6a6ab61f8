/**
 * `npm run bench -- views`: reads each view of a warehouse with 1,200 surveys of five sources and a year of daily history, three times
 * each. It prints the rows of each view, the shortest time and the least CPU. The argument is another number of surveys.
 */
import { z } from 'zod'
import { ALL_VIEWS } from '../../dist/warehouse/views/all.js'
import { inDirectory, table } from './support.mjs'
import { openHistory } from './worlds/history.mjs'

const TIMES = 3
/** These have a row or more for each observation, and people read a part of them. */
const WHOLE_HISTORY = ['survey_progress_periods', 'sample_source_progress_periods', 'progress_daily']

await inDirectory(async (directory) => {
  const database = await openHistory(directory, { surveys: Number(process.argv[2] ?? 1_200), sources: 5 })
  const row = table('view                            |     rows|seconds:2|CPU seconds:2')
  for (const { name } of ALL_VIEWS.filter(({ name }) => !WHOLE_HISTORY.includes(name))) {
    const times = []
    for (let time = 0; time < TIMES; time += 1) {
      const [began, cpu] = [performance.now(), process.cpuUsage()]
      await database.exclusively((sql) => sql.run(`CREATE OR REPLACE TEMP TABLE read AS FROM main.${name}`))
      const { user, system } = process.cpuUsage(cpu)
      times.push([(performance.now() - began) / 1_000, (user + system) / 1e6])
    }
    const [{ rows }] = await database.exclusively((sql) =>
      sql.rows(z.object({ rows: z.number() }), 'SELECT count(*) AS rows FROM temp.read'),
    )
    row(name, rows, ...[0, 1].map((at) => Math.min(...times.map((time) => time[at]))))
  }
  await database.close()
})
