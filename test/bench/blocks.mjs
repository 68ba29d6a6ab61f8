/**
 * `npm run bench:blocks`: how long a sync blocks its event loop, by phase: the longest gap in wall time and in CPU, the gaps that
 * took more than 20 ms of CPU, and the longest garbage collection. Nothing may take longer than 20 ms while a run reads and commits.
 * The wall time of a gap contains the time that it waited for a core, so it needs a quiet machine; the CPU does not.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { envOf, main, startWorld } from './processes.mjs'

const OBSERVE = new URL('blocks/observe.mjs', import.meta.url).href
const [listed = 25_000, read = 500] = process.argv.slice(2).map(Number)

console.log('phase                          longest ms  its CPU ms  over 20 ms  longest GC ms')
const refused = [{ match: { path: '/surveys/*/**' }, times: 'always', action: { status: 422 } }]
await measure(`${listed} listed`, listed, refused)
await measure(`${read} read`, read, [])

async function measure(what, surveys, faults) {
  const world = await startWorld(['--surveys', String(surveys), '--rate-window', 'none', '--clock', 'frozen'])
  const warehouse = await mkdtemp(join(tmpdir(), 'fieldwork-sync-blocks-'))
  try {
    await world.control('PUT', 'faults', faults)
    const phases = await phasesOf(world, warehouse)
    for (const [phase, { wallMs, cpuMs, over20, gcMs }] of Object.entries(phases))
      console.log(
        [
          `${what}: ${phase}`.padEnd(31),
          wallMs.toFixed(1).padStart(10),
          cpuMs.toFixed(1).padStart(10),
          String(over20).padStart(10),
          gcMs.toFixed(1).padStart(13),
        ].join('  '),
      )
  } finally {
    await world.close()
    await rm(warehouse, { recursive: true, force: true })
  }
}

/** The log goes nowhere: the errors of refused surveys are wanted. */
async function phasesOf(world, warehouse) {
  const sync = spawn(process.execPath, ['--import', OBSERVE, main, 'sync', '--json'], {
    env: envOf(world, warehouse),
    stdio: ['ignore', 'ignore', 'ignore', 'ignore', 'pipe'],
  })
  let text = ''
  sync.stdio[4].on('data', (part) => {
    text += part
  })
  await once(sync, 'close')
  return JSON.parse(text)
}
