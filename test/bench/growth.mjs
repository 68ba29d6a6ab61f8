/**
 * `npm run bench -- growth`: publishes 100,000 surveys of five years as Parquet, then changes 1 % of them and publishes again. Once
 * the newest surveys change, as in real life, and once surveys of all months, the worst case. It prints how much of its version
 * each publish writes, with time, CPU and memory. The argument is another number of surveys.
 */
import { systemClock } from '../../dist/base/clock.js'
import { PUBLISHED_VIEWS } from '../../dist/model/publish-formats.js'
import { createLacks } from '../../dist/publish/file-system-lacks.js'
import { readManifest } from '../../dist/publish/parquet/manifest.js'
import { createParquetPublisher } from '../../dist/publish/parquet/publisher.js'
import { inDirectory, table } from './support.mjs'
import { log, openHistory } from './worlds/history.mjs'

const SURVEYS = Number(process.argv[2] ?? 100_000)
const mib = (bytes) => (bytes / 2 ** 20).toFixed(1)

await inDirectory(async (directory) => {
  const world = { surveys: SURVEYS, sources: 3, nights: 1, versions: [1, 1], createdOver: 1_826 }
  const database = await openHistory(directory, world)
  const lacks = createLacks(log)
  const views = PUBLISHED_VIEWS
  const publisher = createParquetPublisher({ database, directory, clock: systemClock, views, log, lacks })
  const row = table(
    'publish                      |   files written|   MiB written|seconds:1|CPU seconds:1|memory MiB:1',
  )
  const publish = async (what) => {
    const [began, cpu] = [performance.now(), process.cpuUsage()]
    const [{ path }] = await publisher.publish(new AbortController().signal)
    const seconds = (performance.now() - began) / 1_000
    const { user, system } = process.cpuUsage(cpu)
    const { version, tables, bytes } = await readManifest(path)
    const files = tables.flatMap((one) => one.files)
    const written = files.filter((file) => file.written_by === version)
    const writtenBytes = written.reduce((sum, file) => sum + file.bytes, 0)
    row(
      what,
      `${written.length} of ${files.length}`,
      `${mib(writtenBytes)} of ${mib(bytes)}`,
      seconds,
      (user + system) / 1e6,
      process.memoryUsage().rss / 2 ** 20,
    )
  }
  /** A night that reads these surveys. A changed one has another title, and another progress with its sources. */
  const night = (where, isChanged = true) =>
    database.transaction(async (sql) => {
      const read = (column) => `WHERE ${where.replaceAll('survey', column)}`
      await sql.run(`UPDATE freshness SET refreshed_at = refreshed_at + INTERVAL 1 DAY ${read('survey_id')}`)
      if (!isChanged) return
      for (const name of ['surveys', 'surveys_history'])
        await sql.run(`UPDATE ${name} SET title = title || '!' ${read('id')}`)
      for (const name of ['survey_progress', 'sample_source_progress'])
        for (const one of [name, `${name}_history`])
          await sql.run(`UPDATE ${one} SET interviews_count = interviews_count + 1 ${read('survey_id')}`)
    })
  await publish('first publish')
  await publish('nothing changed')
  await night(`survey > ${SURVEYS - Math.ceil(SURVEYS / 100)}`)
  await publish('1 % changed, newest surveys')
  await night('survey % 100 = 0')
  await publish('1 % changed, all months')
  await night('true', false)
  await publish('all read again, none changed')
  await database.close()
})
