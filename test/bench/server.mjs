/**
 * `npm run bench -- server`: measures the cost of the reference server's answers, so that it never is the bottleneck of another
 * benchmark. The real command runs as a child process. The steps are:
 *
 * 1. every page of a large list from a process that has just started and still compiles its code,
 * 2. every page of another account for the first time,
 * 3. the same pages a second time, which shows whether the server remembers anything,
 * 4. the same pages compressed.
 *
 * CPU is that of all threads of the server's process, so it is valid on a busy machine; wall time is not. The answers are
 * checked: status 200, full pages, no id twice, the same bytes in every walk. The hashes cover all bodies in order. A change that
 * only makes the server faster does not change them.
 */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { Pool } from 'undici'
import { cpuOf, startWorld, table } from './support.mjs'

const SURVEYS = Number(process.argv[2] ?? 100_000)
const PAGE_SIZE = 50
const PAGES = Math.ceil(SURVEYS / PAGE_SIZE)
const CONNECTIONS = 4
/** The number of surveys whose sources and progress are requested. */
const SAMPLE = Math.min(SURVEYS, 2_000)

const flags = `--rate-window none --clock frozen --accounts 2 --surveys ${SURVEYS} --page-size ${PAGE_SIZE}`
const startedMs = performance.now()
const world = await startWorld(flags)
try {
  const seconds = (performance.now() - startedMs) / 1_000
  console.log(`reference-server ${flags}\nstarted in ${seconds.toFixed(2)} s, ${cpuOf(world.pid)} s of CPU\n`)
  await measureAll(world)
} finally {
  await world.close()
}

async function measureAll({ baseUrl, accounts }) {
  const { origin, pathname } = new URL(baseUrl)
  const pool = new Pool(origin, { connections: CONNECTIONS })
  const measureAs = async (account, paths, encoding = {}) => {
    const headers = { 'authorization-id': String(account.id), 'authorization-token': account.token }
    return await measureWalk(pool, { ...headers, ...encoding }, pathname, paths)
  }
  const [first, second] = accounts
  const row = table(
    'answers                        |count|answers/s:0|CPU ms each:3|answers/s a core:0|KiB each:1|SHA-256 of all  ',
  )
  const print = (what, { count, seconds, cpu, bytes, hash }) => {
    const costs = [count / seconds, (1_000 * cpu) / count, count / cpu, bytes / count / 1_024]
    row(what, count, ...costs, hash.slice(0, 16))
  }

  const pages = Array.from({ length: PAGES }, (_, place) => `/surveys?page=${place + 1}`)
  const fresh = await measureAs(first, pages)
  const ids = checkedIds(fresh.bodies, SURVEYS)
  print('list pages, just started', fresh)
  const firstTime = await measureAs(second, pages)
  checkedIds(firstTime.bodies, SURVEYS)
  print('list pages, first time', firstTime)
  const secondTime = await measureAs(second, pages)
  print('list pages, second time', secondTime)
  const zipped = await measureAs(second, pages, { 'accept-encoding': 'gzip' })
  print('list pages, gzip', zipped)
  if (secondTime.hash !== firstTime.hash || zipped.hash !== firstTime.hash)
    throw new Error('two walks of the same pages returned different bytes')

  const changed = await measureAs(first, await changedPages((paths) => measureAs(first, paths)))
  checkedIds(changed.bodies, null)
  print('list pages, updated_since', changed)

  const step = ids.length / SAMPLE
  const sample = Array.from({ length: SAMPLE }, (_, place) => ids[Math.floor(place * step)])
  for (const path of ['sample_sources', 'fieldwork_progress']) {
    const paths = sample.map((id) => `/surveys/${id}/${path}`)
    print(`${path}, first time`, await measureAs(first, paths))
  }
  await pool.close()
}

/** The pages of surveys that were modified in the half year before the start. */
async function changedPages(measure) {
  const since = 'updated_since=2025-09-01T00:00:00Z'
  const { bodies } = await measure([`/surveys?${since}`])
  const { total_pages } = JSON.parse(bodies[0]).pagination
  return Array.from({ length: total_pages }, (_, place) => `/surveys?${since}&page=${place + 1}`)
}

/** Requests all paths in order, one at a time per connection. */
async function measureWalk(pool, headers, prefix, paths) {
  const bodies = new Array(paths.length)
  const cpuBefore = cpuOf(world.pid)
  const beforeMs = performance.now()
  let next = 0
  const walker = async () => {
    while (next < paths.length) {
      const place = next++
      const path = `${prefix}${paths[place]}`
      const answer = await pool.request({ method: 'GET', path, headers })
      if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`)
      if ((answer.headers['content-encoding'] === 'gzip') !== (headers['accept-encoding'] === 'gzip')) {
        throw new Error(`${path}: content-encoding is ${answer.headers['content-encoding']}`)
      }
      bodies[place] = Buffer.from(await answer.body.arrayBuffer())
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, walker))
  const seconds = (performance.now() - beforeMs) / 1000
  const cpu = cpuOf(world.pid) - cpuBefore
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0)
  const plain = headers['accept-encoding'] === 'gzip' ? bodies.map((body) => gunzipSync(body)) : bodies
  const hash = createHash('sha256')
  for (const body of plain) hash.update(body)
  return { bodies: plain, count: paths.length, seconds, cpu, bytes, hash: hash.digest('hex') }
}

/** The ids of all surveys. Throws when a page but the last is not full, an id comes twice, or a given `count` differs. */
function checkedIds(bodies, count) {
  const lists = bodies.map((body) => JSON.parse(body).surveys)
  if (lists.slice(0, -1).some((surveys) => surveys.length !== PAGE_SIZE))
    throw new Error('a page is not full')
  const ids = lists.flat().map(({ id }) => id)
  if (new Set(ids).size !== ids.length) throw new Error('a survey is listed twice')
  if (count !== null && ids.length !== count)
    throw new Error(`${ids.length} surveys are listed, not ${count}`)
  return ids
}
