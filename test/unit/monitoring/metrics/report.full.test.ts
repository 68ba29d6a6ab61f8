/** The file for node-exporter: whole, readable by all, and with what is still true of the file before. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSilentDisk } from '../../../support/files/disk.js'

test('a file system that does not answer holds neither the run nor the end of the process', async (context) => {
  const disk = await openSilentDisk(context)
  if (disk === null) return
  const url = (file: string) => JSON.stringify(new URL(`../../../../dist/${file}`, import.meta.url).href)
  const script = `
    const { writeTextfile } = await import(${url('monitoring/metrics/report.js')})
    const late = new AbortController()
    setTimeout(() => late.abort(new Error('too late')), 500)
    await writeTextfile(process.argv[1], [], late.signal).catch((error) => console.log(error.message))
    process.exitCode = 5`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script, join(disk, 'a.prom')], {
    encoding: 'utf8',
  })
  expect(ended).toMatchObject({ status: 5, stdout: 'too late\n', stderr: '' })
})
