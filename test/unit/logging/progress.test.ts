/** The progress bar on an emulated terminal, and the few log lines that replace it without a terminal. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Clock } from '../../../src/base/clock.js'
import type { Log } from '../../../src/base/log.js'
import type { RateUsage } from '../../../src/base/network.js'
import { createProgressBar, createProgressLog } from '../../../src/logging/progress.js'
import { createStatusLine } from '../../../src/logging/stderr.js'

/** "Erase to the end of the line", as one character. */
const ERASE = '\u2327'

/** The lines that a terminal shows after a text. The text may contain CR, LF and "erase to the end of the line" only. */
const screenOf = (text: string): readonly string[] => {
  const lines = ['']
  let column = 0
  for (const part of text.replaceAll('\u001b[K', ERASE)) {
    const line = lines.at(-1) ?? ''
    if (part === '\r') column = 0
    else if (part === '\n') {
      lines.push('')
      column = 0
    } else if (part === ERASE) lines[lines.length - 1] = line.slice(0, column)
    else if (part === '\u001b') throw new Error('unexpected escape sequence')
    else {
      lines[lines.length - 1] = line.slice(0, column) + part + line.slice(column + 1)
      column += 1
    }
  }
  return lines
}

const open = () => {
  let nowMs = 1_000_000
  let pausedUntilMs: number | null = null
  const written: string[] = []
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs, after: () => () => undefined }
  const usage = (): RateUsage => ({
    ...{ requests: 10, retries: 0, rateLimited: 0, slotsInUse: 10, paceIntervalMs: null, pausedUntilMs },
    ...{ slotFreeAtMs: null, retryAtMs: null, unanswered: null },
    rate: { requests: 60, perMs: 60_000 },
  })
  const line = createStatusLine({ write: (text) => written.push(text) })
  const bar = createProgressBar({ line, clock, usage, accounts: [], columns: () => 71 })
  return {
    bar,
    line,
    clock,
    usage,
    advance: (ms: number) => {
      nowMs += ms
    },
    pauseFor: (ms: number) => {
      pausedUntilMs = nowMs + ms
    },
    tick: () => vi.advanceTimersToNextTimer(),
    screen: () => screenOf(written.join('')),
    writes: () => written.length,
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the progress bar', () => {
  test('shows the latest state on one line', () => {
    const { bar, advance, screen } = open()
    bar.listed({ account: 'a', page: 1, pages: 2, surveys: 50 })
    expect(screen()).toEqual(['listing page 1 of 2, 50 surveys | 10/60 requests/min'])
    advance(100)
    bar.refreshed({ account: 'a', done: 1, left: 9, requestsLeft: 110 })
    expect(screen()).toEqual(['refreshing 1/10 (10%) | about 1 min 00 s left | 10/60 requests/min'])
    bar.publishing({ format: 'duckdb' })
    expect(screen()).toEqual(['publishing duckdb'])
  })

  test('adds up all accounts', () => {
    const { bar, advance, screen } = open()
    bar.refreshed({ account: 'a', done: 1, left: 9, requestsLeft: 100 })
    advance(100)
    bar.refreshed({ account: 'b', done: 4, left: 6, requestsLeft: 20 })
    expect(screen()).toEqual(['refreshing 5/20 (25%) | about 50 s left | 0/2 accounts done'])
    advance(100)
    bar.ended({ account: 'b', status: 'failed' })
    expect(screen()).toEqual(['refreshing 5/20 (25%) | b failed | about 50 s left | 1/2 accounts done'])
  })

  test('redraws at the next tick instead of for every event', () => {
    const { bar, screen, writes, tick } = open()
    bar.refreshed({ account: 'a', done: 1, left: 99, requestsLeft: 0 })
    const before = writes()
    for (let done = 2; done <= 50; done += 1)
      bar.refreshed({ account: 'a', done, left: 100 - done, requestsLeft: 0 })
    expect(writes()).toBe(before)
    tick()
    expect(screen()[0]).toContain('refreshing 50/100 (50%)')
    expect(writes()).toBe(before + 1)
    tick()
    expect(writes()).toBe(before + 1)
  })

  test('counts down a pause', () => {
    const { bar, screen, tick, pauseFor, advance } = open()
    bar.refreshed({ account: 'a', done: 1, left: 1, requestsLeft: 1 })
    pauseFor(42_000)
    tick()
    expect(screen()[0]).toBe('refreshing 1/2 (50%) | waiting 42 s: the API asked to slow down')
    advance(2_000)
    tick()
    expect(screen()[0]).toContain('waiting 40 s')
    advance(40_000)
    tick()
    expect(screen()[0]).not.toContain('waiting')
  })

  test('counts down the wait for a bucket until the first request', () => {
    const { bar, screen, tick, advance } = open()
    bar.waiting({ what: 'the bucket', forMs: 60_000 })
    expect(screen()).toEqual(['waiting 1 min 00 s for the bucket'])
    advance(20_000)
    tick()
    expect(screen()).toEqual(['waiting 40 s for the bucket'])
    advance(100)
    bar.listed({ account: 'a', page: 1, pages: 2, surveys: 50 })
    expect(screen()[0]).toMatch(/^listing page 1 of 2/)
  })

  test('stays below log lines', () => {
    const { bar, line, screen } = open()
    bar.listed({ account: 'a', page: 1, pages: 2, surveys: 50 })
    line.write('a log line\n')
    line.write('x\n')
    expect(screen()).toEqual(['a log line', 'x', 'listing page 1 of 2, 50 surveys | 10/60 requests/min'])
  })

  test('leaves no line and no timer and draws nothing after its end', () => {
    const { bar, line, screen, tick } = open()
    bar.listed({ account: 'a', page: 1, pages: 2, surveys: 50 })
    line.write('kept\n')
    bar[Symbol.dispose]()
    expect(vi.getTimerCount()).toBe(0)
    tick()
    bar.publishing({ format: 'duckdb' })
    line.write('summary\n')
    expect(screen()).toEqual(['kept', 'summary', ''])
  })

  test('is drawn on a terminal that says it has no columns', () => {
    const { line, clock, usage, screen } = open()
    using bar = createProgressBar({ line, clock, usage, accounts: [], columns: () => 0 })
    bar.publishing({ format: 'duckdb' })
    expect(screen()).toEqual(['publishing duckdb'])
  })

  test('has a timer that does not keep the process alive', () => {
    vi.useRealTimers()
    const { line, clock, usage } = open()
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    using bar = createProgressBar({ line, clock, usage, accounts: [], columns: () => undefined })
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout')).toHaveLength(before)
    bar.publishing({ format: 'duckdb' })
  })
})

describe('without a terminal', () => {
  const openLog = () => {
    const { clock, usage, advance } = open()
    const lines: string[] = []
    const note = (fields: object, message: string) => lines.push(`${message} ${JSON.stringify(fields)}`)
    const log: Log = { debug: note, info: note, warn: note, error: note }
    return { progress: createProgressLog({ log, clock, usage }), lines, advance }
  }

  test('a short run logs only its publishing', () => {
    const { progress, lines, advance } = openLog()
    for (let done = 1; done <= 50; done += 1) {
      advance(500)
      progress.refreshed({ account: 'a', done, left: 50 - done, requestsLeft: 0 })
    }
    progress.publishing({ format: 'duckdb' })
    expect(lines).toEqual(['publishing {"format":"duckdb"}'])
  })

  test('a long run logs a line every 10 %, with the surveys, requests and time left', () => {
    const { progress, lines, advance } = openLog()
    for (let done = 1; done <= 1000; done += 1) {
      advance(1_000)
      progress.refreshed({ account: 'a', done, left: 1000 - done, requestsLeft: 1000 - done })
    }
    expect(lines).toHaveLength(10)
    expect(lines[0]).toBe(
      'refreshing surveys {"account":"a","done":100,"left":900,"requests_left":900,"eta_s":850}',
    )
  })

  test('each of several accounts has its own lines', () => {
    const { progress, lines, advance } = openLog()
    for (let done = 1; done <= 100; done += 1) {
      advance(10_000)
      progress.listed({ account: 'b', page: done, pages: 100, surveys: done * 50 })
      progress.refreshed({ account: 'a', done, left: 100 - done, requestsLeft: 0 })
    }
    const linesOf = (account: string) => lines.filter((line) => line.includes(`"account":"${account}"`))
    expect(linesOf('a')).toHaveLength(10)
    expect(linesOf('b')).toHaveLength(10)
    expect(linesOf('b').every((line) => line.startsWith('listing'))).toBe(true)
  })

  test('a very long run logs a line every five minutes', () => {
    const { progress, lines, advance } = openLog()
    for (let done = 1; done <= 720; done += 1) {
      advance(10_000)
      progress.refreshed({ account: 'a', done, left: 100_000, requestsLeft: 1 })
    }
    expect(lines).toHaveLength(24)
  })

  test('a long listing logs a line too', () => {
    const { progress, lines, advance } = openLog()
    advance(30_000)
    progress.listed({ account: 'a', page: 30, pages: 200, surveys: 1500 })
    expect(lines).toEqual(['listing surveys {"account":"a","page":30,"pages":200,"surveys":1500}'])
  })
})
