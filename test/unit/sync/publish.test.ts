/** How publishing changes how a run ended, and what is recorded of that. */
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import type { RunReport } from '../../../src/model/run.js'
import type { Publisher } from '../../../src/model/warehouse.js'
import {
  PUBLISH_AFTER_SIGNAL_MS_MAX,
  shutdownDeadlineAfter,
} from '../../../src/sync/budget/shutdown-deadline.js'
import { publishAll } from '../../../src/sync/publish.js'
import { WarehouseUnusableError } from '../../../src/warehouse/connection/errors.js'
import { testLog } from '../../support/log/test-log.js'
import { testClock } from '../../support/time/test-clock.js'
import { runReport } from '../commands/reports.js'

const stopped = new StoppedError('stopped by SIGTERM')

const complete = runReport({ account: 'a', status: 'complete', exitCode: 0, reason: null })
const partial = runReport({
  account: 'b',
  status: 'partial',
  exitCode: 3,
  reason: 'stopped by --max-requests 6',
})
const failed = runReport({
  account: 'c',
  status: 'failed',
  exitCode: 4,
  reason: 'refused the credentials (401)',
})

const done = (format: string): Publisher => ({
  format,
  publish: async () => ({ format, path: `/${format}`, bytes: 1 }),
})
const stopping = (format: string): Publisher => ({
  format,
  publish: (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

interface Given {
  readonly reports: readonly RunReport[]
  readonly publishers: readonly Publisher[]
  readonly finishRun?: (report: RunReport) => Promise<void>
}

/** Publishes, and a signal comes. */
const publishStopped = async ({ reports, publishers, finishRun }: Given) => {
  const recorded: RunReport[] = []
  const controller = new AbortController()
  const result = publishAll({
    reports,
    publishers,
    signal: controller.signal,
    finishRun:
      finishRun ??
      ((report) => {
        recorded.push(report)
        return Promise.resolve()
      }),
    observer: {
      listed: () => undefined,
      refreshed: () => undefined,
      ended: () => undefined,
      publishing: () => undefined,
    },
    log: testLog(),
  })
  await turn()
  controller.abort(stopped)
  return { recorded, ended: await result }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('a signal while a publish is under way', () => {
  test('a complete run is recorded anew as partial, with the reason', async () => {
    const { recorded, ended } = await publishStopped({
      reports: [complete],
      publishers: [stopping('duckdb')],
    })
    const reason = 'stopped by SIGTERM before it was published; the next run publishes'
    expect(ended).toMatchObject({ exitCode: 3, status: 'partial', published: [] })
    expect(ended.publishError).toBe('stopped by SIGTERM; the next run publishes')
    expect(recorded).toEqual([{ ...complete, exitCode: 3, status: 'partial', reason }])
    expect(ended.accounts).toEqual(recorded)
  })

  test('what else was wrong stays, and what is worse decides', async () => {
    const { recorded, ended } = await publishStopped({
      reports: [complete, partial, failed],
      publishers: [stopping('duckdb')],
    })
    const reason = 'stopped by SIGTERM before it was published; the next run publishes'
    expect(ended).toMatchObject({ exitCode: 4, status: 'failed' })
    expect(recorded.map(({ exitCode, status, reason }) => [exitCode, status, reason])).toEqual([
      [3, 'partial', reason],
      [3, 'partial', `stopped by --max-requests 6; ${reason}`],
      [4, 'failed', `refused the credentials (401); ${reason}`],
    ])
  })

  test('what the publisher before has published is published', async () => {
    const { ended } = await publishStopped({
      reports: [complete],
      publishers: [done('duckdb'), stopping('parquet')],
    })
    expect(ended.published.map(({ format }) => format)).toEqual(['duckdb'])
    expect(ended.accounts[0]?.reason).toBe(
      'stopped by SIGTERM before all of it was published; the next run publishes',
    )
  })

  test('after the publish it changes nothing', async () => {
    const { recorded, ended } = await publishStopped({ reports: [complete], publishers: [done('duckdb')] })
    expect(ended).toMatchObject({ exitCode: 0, status: 'complete', publishError: null, accounts: [complete] })
    expect(recorded).toEqual([])
  })

  test('where that cannot be recorded the warehouse has failed', async () => {
    const { ended } = await publishStopped({
      reports: [complete],
      publishers: [stopping('duckdb')],
      finishRun: () => Promise.reject(new WarehouseUnusableError('no room')),
    })
    expect(ended).toMatchObject({ exitCode: 7, status: 'failed', publishError: 'no room' })
    const bug = publishStopped({
      reports: [complete],
      publishers: [stopping('duckdb')],
      finishRun: () => Promise.reject(new TypeError('a bug')),
    })
    await expect(bug).rejects.toThrow('a bug')
  })
})

describe('the time that a signal leaves', () => {
  const begun = () => {
    const clock = testClock()
    const controller = new AbortController()
    const shutdown = shutdownDeadlineAfter(controller.signal, clock)
    const pass = async (ms: number) => {
      clock.advance(ms)
      await turn()
    }
    return { shutdown, controller, pass }
  }

  test('a signal that comes later stops the work at once', () => {
    const { shutdown, controller } = begun()
    const work = shutdown.forWorkFromNow()
    controller.abort(stopped)
    expect(work.reason).toBe(stopped)
  })

  test('a signal that came before leaves 8 s from then on, whenever the work begins', async () => {
    const { shutdown, controller, pass } = begun()
    expect(PUBLISH_AFTER_SIGNAL_MS_MAX).toBe(8_000)
    await pass(60_000)
    controller.abort(stopped)
    await pass(5_000)
    const work = shutdown.forWorkFromNow()
    await pass(2_999)
    expect(work.aborted).toBe(false)
    await pass(1)
    expect(work.reason).toEqual(new StoppedError('the 8 s after a signal were over'))
    expect(shutdown.forWorkFromNow().aborted).toBe(true)
  })

  test('a signal that was there from the beginning counts from there', async () => {
    const clock = testClock()
    const shutdown = shutdownDeadlineAfter(AbortSignal.abort(stopped), clock)
    clock.advance(PUBLISH_AFTER_SIGNAL_MS_MAX)
    await turn()
    expect(shutdown.forWorkFromNow().aborted).toBe(true)
  })

  test('when the work is over, nothing is waited for', async () => {
    const { shutdown, controller, pass } = begun()
    controller.abort(stopped)
    const work = shutdown.forWorkFromNow()
    shutdown[Symbol.dispose]()
    await pass(PUBLISH_AFTER_SIGNAL_MS_MAX)
    expect(work.aborted).toBe(false)
  })
})
