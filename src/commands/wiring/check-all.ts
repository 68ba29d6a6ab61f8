/** Tests each part that a sync needs, and reports every failure. No request without the warehouse. */
import { type Clock, systemClock } from '../../base/clock.js'
import { EXIT_CODES, type ExitCode, ExpectedError, StoppedError } from '../../base/errors.js'
import { counted } from '../../base/human.js'
import type { AccountSettings } from '../../settings/settings.js'
import type { Work } from '../context.js'
import type { Check } from '../text/checks.js'
import { holdPlace } from './hold-place.js'
import { openSource } from './open-source.js'
import type { Place } from './place.js'
import { addressChecks, checkMetricsFile } from './report-checks.js'
import { newRunId } from './run-id.js'

export interface CheckResult {
  readonly checks: readonly Check[]
  readonly exitCode: ExitCode
}

/** Rejects only for a bug. The first failed check decides the exit code. `clock` is that of the requests. */
export const checkAll = async (options: Work, clock: Clock = systemClock): Promise<CheckResult> => {
  const { settings } = options
  const checks: Check[] = [
    { what: 'settings', ok: true, detail: settings.settingsFile ?? 'from the environment' },
  ]
  let exitCode: ExitCode = EXIT_CODES.complete
  const fail = (what: string, error: unknown) => {
    if (!(error instanceof ExpectedError)) throw error
    checks.push({ what, ok: false, detail: error.message })
    if (exitCode === EXIT_CODES.complete) exitCode = error.exitCode
  }
  const file = settings.metrics?.file ?? null
  if (file !== null)
    await checkMetricsFile(file, options.signal).then(
      (check) => checks.push(check),
      (error: unknown) => fail('metrics.file', error),
    )
  checks.push(...addressChecks(settings))
  try {
    // Held during the requests: together with a sync at the same time, we would exceed the cap.
    await using place = await holdPlace({
      ...options,
      command: 'check',
      runId: newRunId(systemClock.nowMs()),
    })
    await using trial = await place.tryOut()
    checks.push(...trial.found.map(({ what, detail }) => ({ what, ok: true, detail })))
    for (const account of settings.accounts) {
      await requestSurveys(options, account, place, clock).then(
        (detail) => checks.push({ what: `API of ${account.name}`, ok: true, detail }),
        (error: unknown) => fail(`API of ${account.name}`, error),
      )
    }
  } catch (error) {
    fail(settings.storage === null ? 'warehouse' : 'storage', error)
  }
  return { checks, exitCode }
}

/** Makes one request without retries: a refusal or failure is the result of the check. */
const requestSurveys = async (
  { settings, log }: Work,
  account: AccountSettings,
  { signal, requireHeld: requireAdmission }: Place,
  clock: Clock,
): Promise<string> => {
  const limits = { ...settings.limits, attemptsMax: 1, pausesMax: 1 }
  const ledgerDirectory = settings.warehouseDirectory
  await using opened = openSource({
    account,
    limits,
    ledgerDirectory,
    requireAdmission,
    clock,
    log,
  })
  const startedMs = clock.monotonicMs()
  let sentMs: number | null = null
  const allowance = {
    take: () => {
      if (sentMs !== null) throw new StoppedError('check makes one request only')
      sentMs = clock.monotonicMs()
    },
  }
  const page = await opened.source.listSurveys({ updatedSince: null, page: 1 }, { signal, allowance })
  const waitedMs = (sentMs ?? startedMs) - startedMs
  const tookMs = Math.round(clock.monotonicMs() - startedMs - waitedMs)
  const waited =
    waitedMs < REPORTED_WAIT_MS_MIN ? '' : `; waited ${Math.round(waitedMs / 1_000)} s for a free slot`
  const rejected =
    page.rejections.length === 0
      ? ''
      : `; ${counted(page.rejections.length, 'row')} of its first page cannot be typed`
  const via =
    account.proxy === null ? '' : ` through the proxy ${account.proxy.address} (${account.proxy.variable})`
  return `${account.baseUrl} answers${via} in ${tookMs} ms and shows ${counted(page.pagination.total_count, 'survey')}${rejected}${waited}`
}

/** A shorter wait needs no explanation. */
const REPORTED_WAIT_MS_MIN = 1_000
