/** A database is closed in the middle of nothing, so that the process that had it open comes to its end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { SLOW } from '../../../support/suite/slow.js'

const DATABASE = new URL('../../../../dist/warehouse/connection/database.js', import.meta.url).href

/** A work whose first statement fails while its second one runs, and then the end. Whether that one has begun by then is luck. */
const SCRIPT = `
const { openDatabase } = await import(${JSON.stringify(DATABASE)})
for (let time = 1; time <= 8; time += 1) {
  const database = await openDatabase(':memory:')
  const work = database.exclusively((sql) =>
    Promise.all([
      sql.run('SELECT there_is_no_such_column'),
      sql.run('SELECT sum(a.range * b.range) FROM range(15000) a, range(15000) b'),
    ]),
  )
  console.log(await work.then(() => 'done', () => 'failed'))
  await database.close()
}
`

test.runIf(SLOW)(
  'a statement that is still under way when its work has failed comes to its end before the database is closed',
  async ({ onTestFinished }) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 50_000,
      killSignal: 'SIGKILL',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let told = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text
    })
    const [code, signal] = await once(child, 'close')
    expect({ code, signal, told }).toEqual({
      code: 0,
      signal: null,
      told: 'failed\n'.repeat(8),
    })
  },
)
