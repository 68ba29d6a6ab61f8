/** A database is closed after its last statement, so its process can end. Long results are read in parts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'

const DATABASE = new URL('../../../../dist/warehouse/connection/database.js', import.meta.url).href

/** The first statement fails while the second one runs; then the database is closed. Whether the second has begun is chance. */
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

test('a statement that still runs when its work has failed ends before the database is closed', async ({
  onTestFinished,
}) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const [code, signal] = await once(child, 'close')
  expect({ code, signal, printed }).toEqual({ code: 0, signal: null, printed: 'failed\n'.repeat(8) })
})
