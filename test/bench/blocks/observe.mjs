/**
 * Loaded before a command: measures the gaps in its event loop, and writes the longest ones of each phase to file descriptor 4. A gap
 * is the time between two ticks of a timer of 1 ms. `monitorEventLoopDelay` does not serve here. Its values have no time, so they do
 * not show the phase; and no CPU, so they do not show whether a gap blocked or waited for a busy core.
 */
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'

/** Shorter gaps are not kept. */
const KEPT_FROM_MS = 2

const gaps = []
const collections = []
let firstAnswerMs = Number.POSITIVE_INFINITY
let lastPageMs = Number.POSITIVE_INFINITY
let firstSurveyMs = Number.POSITIVE_INFINITY
let lastAnswerMs = Number.POSITIVE_INFINITY

const isPage = ({ path }) => path.split('?')[0].endsWith('/surveys')

subscribe('undici:request:create', ({ request }) => {
  if (!isPage(request)) firstSurveyMs = Math.min(firstSurveyMs, performance.now())
})
subscribe('undici:request:trailers', ({ request }) => {
  lastAnswerMs = performance.now()
  firstAnswerMs = Math.min(firstAnswerMs, lastAnswerMs)
  if (isPage(request)) lastPageMs = lastAnswerMs
})

new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries())
    collections.push({ atMs: startTime, wallMs: duration })
}).observe({ entryTypes: ['gc'] })

let atMs = performance.now()
let cpuMs = cpuOfThread()
setInterval(() => {
  const nowMs = performance.now()
  const nowCpuMs = cpuOfThread()
  if (nowMs - atMs >= KEPT_FROM_MS) gaps.push({ atMs, wallMs: nowMs - atMs, cpuMs: nowCpuMs - cpuMs })
  atMs = nowMs
  cpuMs = nowCpuMs
}, 1).unref()

/** CPU of this thread so far, milliseconds. */
function cpuOfThread() {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
}

const phaseAt = (ms) => {
  if (ms < firstAnswerMs) return 'start'
  if (ms < Math.min(lastPageMs, lastAnswerMs)) return 'listing'
  if (ms < Math.min(firstSurveyMs, lastAnswerMs)) return 'last pages, queue'
  return ms < lastAnswerMs ? 'surveys' : 'end, publish'
}

process.on('exit', () => {
  const phases = {}
  const of = (phase) => (phases[phase] ??= { wallMs: 0, cpuMs: 0, over20: 0, gcMs: 0 })
  for (const gap of gaps) {
    const phase = of(phaseAt(gap.atMs))
    phase.wallMs = Math.max(phase.wallMs, gap.wallMs)
    phase.cpuMs = Math.max(phase.cpuMs, gap.cpuMs)
    if (gap.cpuMs > 20) phase.over20 += 1
  }
  for (const { atMs, wallMs } of collections) {
    const phase = of(phaseAt(atMs))
    phase.gcMs = Math.max(phase.gcMs, wallMs)
  }
  writeSync(4, JSON.stringify(phases))
})
