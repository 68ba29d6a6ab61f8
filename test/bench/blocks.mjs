/**
 * `npm run bench -- blocks`: how long a sync blocks its event loop, by phase: the longest gap in wall time and in CPU, the gaps that
 * took more than 20 ms of CPU, and the longest garbage collection. Nothing may take longer than 20 ms while a run reads and commits.
 * The wall time of a gap contains the time that it waited for a core, so it needs a quiet machine; the CPU does not.
 */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { inWorld, main, refuseSurveys, table } from './support.mjs'

const OBSERVE = new URL('blocks/observe.mjs', import.meta.url).href
const [listed = 25_000, read = 500] = process.argv.slice(2).map(Number)

const row = table('phase                         |longest ms:1|its CPU ms:1|over 20 ms|longest GC ms:1')
await measure(`${listed} listed`, listed, refuseSurveys)
await measure(`${read} read`, read, () => undefined)

/** The log goes nowhere: the errors of refused surveys are wanted. */
async function measure(what, surveys, prepare) {
  await inWorld(surveys, async ({ world, env }) => {
    await prepare(world)
    const sync = spawn(process.execPath, ['--import', OBSERVE, main, 'sync', '--json'], {
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ignore', 'pipe'],
    })
    const phases = JSON.parse(await text(sync.stdio[4]))
    for (const [phase, { wallMs, cpuMs, over20, gcMs }] of Object.entries(phases))
      row(`${what}: ${phase}`, wallMs, cpuMs, over20, gcMs)
  })
}
