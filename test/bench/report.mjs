/**
 * `npm run bench -- report`: the report of 1,200 surveys with a year of daily history and five sources each. First a quarter of them is in
 * the field, then all of them, which is the worst case. It prints time, CPU, memory and size of the command. The argument is another
 * number of surveys.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createDuckdbPublisher } from '../../dist/publish/duckdb.js'
import { createLacks } from '../../dist/publish/file-system-lacks.js'
import { inDirectory, main, table, timed } from './support.mjs'
import { log, openHistory } from './worlds/history.mjs'

const SURVEYS = Number(process.argv[2] ?? 1_200)
const RUNS = 3

await inDirectory(async (root) => {
  const row = table('in the field|surveys|seconds:2|CPU seconds:2|memory MB:0|size MB:2')
  for (const every of [4, 1]) {
    const directory = join(root, `every-${every}`)
    const status = `CASE WHEN survey % ${every} = 0 THEN 'fieldwork' ELSE 'complete' END`
    const database = await openHistory(directory, { surveys: SURVEYS, sources: 5, status })
    await createDuckdbPublisher(database, directory, createLacks(log)).publish(new AbortController().signal)
    await database.close()
    const out = join(root, `report-${every}.html`)
    const runs = []
    const args = [main, 'report', '--out', out, '--warehouse', directory]
    for (let run = 0; run < RUNS; run += 1) runs.push(await timed(args, { PATH: process.env.PATH }))
    const best = ['wall', 'cpu', 'peak'].map((name) => Math.min(...runs.map((run) => run[name])))
    row(Math.floor(SURVEYS / every), SURVEYS, ...best, (await stat(out)).size / 1e6)
  }
})
