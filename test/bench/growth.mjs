/**
 * `npm run bench:growth`: publishes 100,000 surveys of five years as Parquet, then changes 1 % of them and publishes again. Once
 * the newest surveys change, as in real life, and once surveys of all months, the worst case. It prints how much of its version
 * each publish writes, with time, CPU and memory. The argument is another number of surveys.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../build/base/clock.js'
import { INTERVIEW_STATUSES } from '../../build/model/fields.js'
import { readManifest } from '../../build/publish/parquet/manifest.js'
import { createParquetPublisher } from '../../build/publish/parquet/publisher.js'
import { accountWarehouse } from '../../build/warehouse/account-warehouse.js'
import { openWarehouse } from '../../build/warehouse/lifecycle/open.js'

const SURVEYS = Number(process.argv[2] ?? 100_000)
const AT_ONCE = 2_000
const SOURCES = [1, 2, 3]
const DAY = 86_400_000_000n
const FIVE_YEARS = 1_826n * DAY
const BEGINNING = BigInt(Date.parse('2021-03-01T00:00:00Z')) * 1_000n
let night = BEGINNING + FIVE_YEARS
/** The night of its last change, by survey. Its title and progress follow from it. */
const changedOn = new Map()

const silent = () => undefined
const log = { debug: silent, info: silent, warn: console.warn, error: console.error }
const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-growth-'))
const database = await openWarehouse({ directory, clock: systemClock, log, command: 'bench:growth' })
const account = accountWarehouse(database, 'acme')
const publisher = createParquetPublisher({ database, directory, clock: systemClock, log })
try {
  const ids = Array.from({ length: SURVEYS }, (_, at) => at + 1)
  await read(ids, 'full')
  const { size } = await stat(join(directory, 'work.duckdb'))
  console.log(`${SURVEYS} surveys, ${SOURCES.length} sources each; work database ${mib(size)} MiB`)
  console.log(
    'publish                            files written     MiB written  seconds   CPU seconds     memory MiB',
  )
  await publish('first publish')
  await publish('nothing changed')
  const onePercent = Math.ceil(SURVEYS / 100)
  await read(ids.slice(-onePercent), 'incremental')
  await publish('1 % changed, newest surveys')
  await read(
    ids.filter((id) => id % 100 === 0),
    'incremental',
  )
  await publish('1 % changed, all months')
  await read(ids, 'incremental', false)
  await publish('all read again, none changed')
} finally {
  await database.close()
  await rm(directory, { recursive: true, force: true })
}

/** A night that lists and refreshes these surveys. Each has changed unless `isChanged` is false. */
async function read(ids, kind, isChanged = true) {
  night += DAY
  if (isChanged) for (const id of ids) changedOn.set(id, night)
  const at = night
  const listing = { kind, updatedSince: kind === 'full' ? null : at, ceiling: at, startedAt: at }
  await account.startListing(listing)
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const page = ids.slice(from, from + AT_ONCE)
    await account.commitListingPages([
      {
        runId: 'run',
        at,
        page: from / AT_ONCE + 1,
        surveys: page.map(survey),
        rejections: [],
        drift: [],
        totalCount: ids.length,
        nextPage: from + AT_ONCE < ids.length ? from / AT_ONCE + 2 : null,
        committedAt: at,
      },
    ])
    await account.commitBundles(
      page.map((id) => bundle(id, at)),
      'run',
    )
  }
}

async function publish(what) {
  const [began, cpu] = [performance.now(), process.cpuUsage()]
  const [{ path }] = await publisher.publish(new AbortController().signal)
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  const { version, tables, bytes } = await readManifest(path)
  const files = tables.flatMap((table) => table.files)
  const written = files.filter((file) => file.written_by === version)
  const writtenBytes = written.reduce((sum, file) => sum + file.bytes, 0)
  console.log(
    [
      what.padEnd(29),
      `${written.length} of ${files.length}`.padStart(17),
      `${mib(writtenBytes)} of ${mib(bytes)}`.padStart(14),
      seconds.toFixed(1).padStart(7),
      ((user + system) / 1e6).toFixed(1).padStart(12),
      mib(process.memoryUsage().rss).padStart(13),
    ].join('  '),
  )
}

function survey(id) {
  const createdAt = BEGINNING + (FIVE_YEARS * BigInt(id)) / BigInt(SURVEYS + 1)
  return {
    id,
    title: `Survey ${id} of brand ${(id * 7919) % 1000}, night ${changedOn.get(id) / DAY}`,
    created_at: createdAt,
    updated_at: changedOn.get(id),
    hashid: ((id * 2_654_435_761) % 4_294_967_296).toString(36),
    project_id: id % 3 === 0 ? null : `P-${id % 977}`,
    status: id > SURVEYS * 0.97 ? 'fieldwork' : 'complete',
    owner_organization_id: 1,
    transition_style: 'single_page',
    respondent_questions_count: 10 + (id % 40),
    respondent_iterations_count: 12 + (id % 50),
    _extra: null,
  }
}

function bundle(surveyId, at) {
  const sources = SOURCES.map((number) => source(surveyId * 10 + number))
  return {
    kind: 'refreshed',
    refused: null,
    surveyId,
    at,
    sourcesRead: 'all',
    sources,
    listedSourceIds: sources.map(({ id }) => id),
    progress: progress(surveyId, surveyId),
    sourceProgress: sources.map(({ id }) => ({ sampleSourceId: id, progress: progress(id, surveyId), at })),
    sourceProgressRead: 'all',
    rejections: [],
    drift: [],
  }
}

function source(id) {
  return {
    id,
    provider: 'panel',
    sample_size: 100 + (id % 900),
    country_code: ['FR', 'DE', 'ES', 'IT'][id % 4],
    description: `Source ${id}, everyone between 18 and 65`,
    name: `S${id}`,
    hashid: ((id * 2_654_435_761) % 4_294_967_296).toString(36),
    panelist_id_required: id % 2 === 0,
    created_at: BEGINNING,
    updated_at: BEGINNING,
    _extra: null,
  }
}

/** Numbers that resemble real counts and do not repeat from survey to survey. */
function progress(id, surveyId) {
  const changed = Number(changedOn.get(surveyId) / DAY)
  const count = (salt) => ((id * 2_654_435_761 + changed * 40_503 + salt * 97_561) >>> 0) % 1_000
  const rate = (salt) => count(salt) / (count(salt + 1) + 1)
  const statuses = INTERVIEW_STATUSES.flatMap((status, at) => [
    [`${status}_individuals`, count(at)],
    [`${status}_percentage`, rate(at)],
  ])
  return {
    sample_size: 1_000,
    interviews_count: count(50),
    completion_rate: count(50) / 1_000,
    questionnaire_incidence_rate: rate(60),
    target_incidence_rate: rate(70),
    incidence_rate: rate(70),
    drop_out_rate: rate(80),
    length_of_interview: count(90),
    ...Object.fromEntries(statuses),
    _extra: null,
  }
}

function mib(bytes) {
  return (bytes / 1_048_576).toFixed(1)
}
