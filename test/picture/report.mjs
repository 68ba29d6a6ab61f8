/** `npm run picture`: draws docs/images/report.png with Chromium. It is the report of `npm run demo`. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { envOf, inDirectory, main, startWorld } from '../bench/support.mjs'
import { NIGHTS, SETTINGS, WORLD } from '../demo/world.mjs'

const PICTURE = fileURLToPath(new URL('../../docs/images/report.png', import.meta.url))

await inDirectory(async (directory) => {
  const world = await startWorld(`${WORLD} --rate-limit 600/1s`)
  try {
    const env = {
      ...envOf(world, join(directory, 'warehouse')),
      FIELDWORK_SYNC_CONFIG: SETTINGS,
      FIELDWORK_SYNC_RATE_LIMIT: '600/1s',
    }
    const run = (...args) => execFileSync(process.execPath, [main, ...args], { env, stdio: 'ignore' })
    const report = join(directory, 'report.html')
    for (let night = 0; night < NIGHTS; night += 1) {
      if (night > 0) await world.control('POST', 'time', { advance: 'P1D' })
      run('sync')
    }
    run('report', '--out', report)
    const flags = '--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,850'.split(' ')
    const files = [`--user-data-dir=${directory}/profile`, `--screenshot=${PICTURE}`, `file://${report}`]
    execFileSync('chromium', [...flags, ...files], { stdio: 'ignore' })
  } finally {
    await world.close()
  }
})
console.log(`drawn: ${PICTURE}`)
