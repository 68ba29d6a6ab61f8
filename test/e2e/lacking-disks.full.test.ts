/** File systems that lack what others have, as network shares, FUSE and VirtualBox do: no sync of directories. */

import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { failing } from '../support/process/failing-calls.js'
import { lacks } from '../support/suite/lacks.js'

const WARNING = /"msg":"this file system has no sync of directories: [^"]*"/g

test
  .skipIf(lacks('gcc'))
  .concurrent.for([
    { syncDirectory: 'EINVAL' } as const,
    ...(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EBADF', 'EISDIR', 'EPERM', 'EACCES'] as const).map(
      (syncDirectory) => ({ syncDirectory }),
    ),
    ...(['EACCES', 'EISDIR', 'EINVAL'] as const).map((openDirectory) => ({ openDirectory })),
  ])(
  'a run publishes everything where directories cannot be synced (%j), with one warning',
  async (calls, { onTestFinished }) => {
    const trial = await openTrial({ onTestFinished }, [scriptedSurvey(1)])
    const env = failing(calls)
    const ended = await trial.run(['sync', '--publish', 'duckdb,parquet,report'], env)
    expect(ended).toMatchObject({ code: 0 })
    expect(ended.stderr.match(WARNING)).toHaveLength(1)
    expect(await readdir(trial.warehouse)).toEqual(
      expect.arrayContaining(['fieldwork.duckdb', 'parquet', 'report.html']),
    )
    const out = await trial.temporary()
    expect(await trial.run(['report', '--out', join(out, 'page.html')], env)).toMatchObject({ code: 0 })
    expect(await trial.run(['export', '--format', 'csv', '--out', join(out, 'tables')], env)).toMatchObject({
      code: 0,
    })
    expect(await readFile(join(out, 'page.html'), 'utf8')).toContain('<!doctype html>')
    expect(await readdir(join(out, 'tables'))).toContain('export.json')
  },
)

test
  .skipIf(lacks('gcc'))
  .concurrent(
    'a failing disk is no such file system, and no message denies what was renamed before',
    async ({ onTestFinished }) => {
      const trial = await openTrial({ onTestFinished }, [scriptedSurvey(1)])
      const broken = failing({ syncDirectory: 'EIO' })
      const ended = await trial.run(['sync'], broken)
      // The start of the run is the first file that it replaces. Without it, the run would not begin.
      const start = join(trial.warehouse, 'last-run.json')
      expect(ended).toMatchObject({ code: 7, stdout: '' })
      expect(ended.stderr).toContain(
        `fieldwork-sync: ${start} is replaced, but a power failure may undo that: EIO: i/o error, fsync. Check the disk, then run again`,
      )
      expect(trial.api.arrivals).toEqual([])
      expect((await trial.run(['sync'])).code).toBe(0)
      expect((await trial.run(['sync'], broken)).code).toBe(7)
      expect(await trial.runs()).toHaveLength(1)
      const out = await trial.temporary()
      const commands = [
        { args: ['report'], place: join(out, 'page.html') },
        { args: ['export', '--format', 'csv'], place: join(out, 'tables') },
      ]
      for (const { args, place } of commands) {
        const ended = await trial.run([...args, '--out', place], broken)
        expect(ended).toMatchObject({ code: 7, stdout: '' })
        expect(ended.stderr).toContain('EIO: i/o error, fsync')
        expect(ended.stderr.includes('is replaced, but')).toBe(existsSync(place))
      }
    },
  )

const REFUSED = ['ENOLCK', 'ENOSYS', 'EOPNOTSUPP', 'EINVAL', 'EACCES', 'EPERM'] as const

test
  .skipIf(lacks('gcc'))
  .concurrent.for(REFUSED.flatMap((setLock) => [{ setLock }, { setLock, getLock: setLock }]))(
  'a file system without locks (%j) is named as such, by commands that write and that read',
  async (calls, { onTestFinished }) => {
    const trial = await openTrial({ onTestFinished }, [scriptedSurvey(1)])
    const env = failing(calls)
    const says = new RegExp(
      `cannot lock ${trial.warehouse}/(?:work|fieldwork)\\.duckdb: this file system gives no locks \\(E[A-Z]+\\)\\. Use another volume, or a bucket`,
    )
    const ended = await trial.run(['sync'], env)
    expect(ended).toMatchObject({ code: 7, stderr: expect.stringMatching(says) })
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    // Without ENOTSUP: DuckDB reads without a lock then.
    const isReadable = calls.setLock === 'EOPNOTSUPP'
    for (const args of [['status'], ['verify', '--local'], ['sync']]) {
      const ended = await trial.run(args, env)
      if (isReadable && args[0] !== 'sync') expect(ended).toMatchObject({ code: 0 })
      else expect(ended).toMatchObject({ code: 7, stderr: expect.stringMatching(says) })
    }
    expect((await readdir(trial.warehouse)).filter((name) => name.includes('damaged'))).toEqual([])
  },
)

test
  .skipIf(lacks('gcc'))
  .concurrent('a disk that fails at the lock is not said to have none', async ({ onTestFinished }) => {
    const trial = await openTrial({ onTestFinished }, [scriptedSurvey(1)])
    const ended = await trial.run(['sync'], failing({ setLock: 'EIO', getLock: 'EIO' }))
    expect(ended).toMatchObject({
      code: 7,
      stderr: expect.stringContaining(
        'work.duckdb: EIO. Check the disk or the network share, then run again',
      ),
    })
  })
