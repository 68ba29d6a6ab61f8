/** How publishing changes the result of a run, and how that is recorded. */
import { describe, expect, test } from 'vitest'
import { type ExitCode, StoppedError, UnsyncedError } from '../../../src/base/errors.js'
import type { RunReport, RunStatus } from '../../../src/model/run.js'
import { BehindError, type Publisher } from '../../../src/model/warehouse.js'
import { PUBLISH_AFTER_SIGNAL_MS_MAX, publishAll, shutdownDeadlineAfter } from '../../../src/sync/publish.js'
import { WarehouseUnusableError } from '../../../src/warehouse/connection/errors.js'
import { testLog, UNOBSERVED } from '../../support/log/test-log.js'
import { testClock } from '../../support/time/test-clock.js'
import { runReport } from '../commands/reports.js'

const stopped = new StoppedError('stopped by SIGTERM')

const ended = (account: string, status: RunStatus, exitCode: ExitCode, reason: string | null) =>
  runReport({ account, status, exitCode, reason })
const complete = ended('a', 'complete', 0, null)
const partial = ended('b', 'partial', 3, 'stopped by --max-requests 6')
const failed = ended('c', 'failed', 4, 'refused the credentials (401)')

const done = (format: string): Publisher => ({
  format,
  publish: async () => [{ format, path: `/${format}`, bytes: 1 }],
})
const stopping = (format: string): Publisher => ({
  format,
  publish: (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

/** Publishes, and sends a signal after a moment. */
const publishStopped = async (
  publishers: readonly Publisher[],
  reports: readonly RunReport[] = [complete],
  finishRun?: (report: RunReport) => Promise<void>,
) => {
  const recorded: RunReport[] = []
  const controller = new AbortController()
  const result = publishAll({
    reports,
    publishers,
    signal: controller.signal,
    finishRun: finishRun ?? (async (report) => void recorded.push(report)),
    observer: UNOBSERVED,
    log: testLog(),
  })
  await settled()
  controller.abort(stopped)
  return { recorded, ended: await result }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a signal while a publish is under way', () => {
  const reason = 'stopped by SIGTERM before it was published; the next run publishes it'

  test('records a complete run again as partial, with the reason', async () => {
    const { recorded, ended } = await publishStopped([stopping('duckdb')])
    expect(ended).toMatchObject({ exitCode: 3, status: 'partial', published: [] })
    expect(ended.publishError).toBe('stopped by SIGTERM; the next run publishes it')
    expect(recorded).toEqual([{ ...complete, exitCode: 3, status: 'partial', reason }])
    expect(ended.accounts).toEqual(recorded)
  })

  test('keeps the earlier reasons, and the worst result decides', async () => {
    const { recorded, ended } = await publishStopped([stopping('duckdb')], [complete, partial, failed])
    expect(ended).toMatchObject({ exitCode: 4, status: 'failed' })
    expect(recorded.map((run) => [run.exitCode, run.status, run.reason])).toEqual([
      [3, 'partial', reason],
      [3, 'partial', `stopped by --max-requests 6; ${reason}`],
      [4, 'failed', `refused the credentials (401); ${reason}`],
    ])
  })

  test('reports the files that an earlier publisher has published', async () => {
    const { ended } = await publishStopped([done('duckdb'), stopping('parquet')])
    expect(ended.published.map(({ format }) => format)).toEqual(['duckdb'])
    expect(ended.accounts[0]?.reason).toBe(
      'stopped by SIGTERM before all of it was published; the next run publishes it',
    )
  })

  test('changes nothing when it comes after the publish', async () => {
    const { recorded, ended } = await publishStopped([done('duckdb')])
    expect(ended).toMatchObject({ exitCode: 0, status: 'complete', publishError: null, accounts: [complete] })
    expect(recorded).toEqual([])
  })

  test('exits 7 when the warehouse cannot record it, and rethrows a bug', async () => {
    const failing = (error: Error) =>
      publishStopped([stopping('duckdb')], [complete], () => Promise.reject(error))
    const { ended } = await failing(new WarehouseUnusableError('no room'))
    expect(ended).toMatchObject({ exitCode: 7, status: 'failed', publishError: 'no room' })
    await expect(failing(new TypeError('a bug'))).rejects.toThrow('a bug')
  })
})

describe('the time for work after a signal', () => {
  const setUp = () => {
    const clock = testClock()
    const controller = new AbortController()
    const shutdown = shutdownDeadlineAfter(controller.signal, clock)
    const pass = async (ms: number) => {
      clock.advance(ms)
      await settled()
    }
    return { shutdown, controller, pass }
  }

  test('a signal during the work stops it at once', () => {
    const { shutdown, controller } = setUp()
    const work = shutdown.forWorkFromNow()
    controller.abort(stopped)
    expect(work.reason).toBe(stopped)
  })

  test('a signal before the work leaves 8 s from the signal on, whenever the work begins', async () => {
    const { shutdown, controller, pass } = setUp()
    expect(PUBLISH_AFTER_SIGNAL_MS_MAX).toBe(8_000)
    await pass(60_000)
    controller.abort(stopped)
    await pass(5_000)
    const work = shutdown.forWorkFromNow()
    await pass(2_999)
    expect(work.aborted).toBe(false)
    await pass(1)
    expect(work.reason).toEqual(new StoppedError('the shutdown deadline of 8 s passed'))
    expect(shutdown.forWorkFromNow().aborted).toBe(true)
  })

  test('a signal that came before the deadline was set counts from that moment', async () => {
    const clock = testClock()
    const shutdown = shutdownDeadlineAfter(AbortSignal.abort(stopped), clock)
    clock.advance(PUBLISH_AFTER_SIGNAL_MS_MAX)
    await settled()
    expect(shutdown.forWorkFromNow().aborted).toBe(true)
  })

  test('nothing is aborted after the work has ended', async () => {
    const { shutdown, controller, pass } = setUp()
    controller.abort(stopped)
    const work = shutdown.forWorkFromNow()
    shutdown[Symbol.dispose]()
    await pass(PUBLISH_AFTER_SIGNAL_MS_MAX)
    expect(work.aborted).toBe(false)
  })
})

test('after a failure, the reason says which formats are published all the same', async () => {
  const failing: Publisher = {
    format: 'parquet',
    publish: () => Promise.reject(new WarehouseUnusableError('no room')),
  }
  const reasonAfter = async (publishers: readonly Publisher[]) => {
    const { ended } = await publishStopped(publishers)
    return ended.accounts[0]?.reason
  }
  expect(await reasonAfter([failing])).toBe('not published: no room')
  expect(await reasonAfter([done('duckdb'), failing])).toBe('only duckdb published: no room')
})

test('a version that some readers do not see yet fails the run, and what they see is published', async () => {
  const [report] = await done('duckdb').publish(new AbortController().signal)
  const reason = 'version 2 is published, but its Delta tables are behind'
  const behind: Publisher = {
    format: 's3://bucket',
    publish: () =>
      Promise.reject(new BehindError('delta_behind', reason, report === undefined ? [] : [report])),
  }
  const { recorded, ended } = await publishStopped([behind, done('report')])
  expect(ended).toMatchObject({ exitCode: 7, status: 'failed', publishError: null })
  expect(ended.published.map(({ format }) => format)).toEqual(['duckdb', 'report'])
  expect(recorded).toEqual([
    { ...complete, exitCode: 7, status: 'failed', reason, errorCode: 'delta_behind' },
  ])
})

describe('a file that is in place, but that a power failure may undo', () => {
  const unsynced: Publisher = {
    format: 'duckdb',
    publish: () =>
      Promise.reject(new UnsyncedError('/duckdb is replaced, but a power failure may undo that')),
  }

  test.each([
    ['the other formats are published', done('parquet'), ['parquet']],
    ['a later signal is no excuse', stopping('parquet'), []],
  ])('fails the run without a word that it was not published: %s', async (_, next, formats) => {
    const { recorded, ended } = await publishStopped([unsynced, next])
    const reason = '/duckdb is replaced, but a power failure may undo that'
    expect(ended).toMatchObject({ exitCode: 7, status: 'failed', publishError: null })
    expect(ended.published.map(({ format }) => format)).toEqual(formats)
    expect(recorded).toEqual([{ ...complete, exitCode: 7, status: 'failed', reason, errorCode: 'unsynced' }])
  })
})
