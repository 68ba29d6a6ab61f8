/**
 * What `check` does: tests each part that a sync needs, and reports every failure. `init` makes the same checks. Without the warehouse, no
 * request is sent.
 */
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../base/clock.js'
import {
  type ErrorCode,
  EXIT_CODES,
  type ExitCode,
  ExpectedError,
  isStop,
  messageOf,
  StoppedError,
  WarehouseError,
} from '../base/errors.js'
import { counted, humanCount } from '../base/human.js'
import type { SharedRate } from '../base/network.js'
import { throwIfAborted, unlessAborted } from '../base/signals.js'
import { onOneLine } from '../model/data-problem-names.js'
import type { MailTarget, Target } from '../model/monitoring.js'
import type { PlanFile } from '../model/run.js'
import { ifMissing } from '../publish/replace-file.js'
import { loadSettings, type SettingsRequest } from '../settings/load-settings.js'
import type { AccountSettings, Settings } from '../settings/settings.js'
import type { Storage } from '../storage/storage.js'
import type { Sql } from '../warehouse/connection/database.js'
import type { CliContext, Work } from './context.js'
import { openTelemetry } from './monitored-run.js'
import { jsonOf } from './text/json.js'

interface Check {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

type CheckFlags = SettingsRequest['flags'] & { readonly json?: boolean | undefined }

export const check = async (context: CliContext, flags: CheckFlags): Promise<void> => {
  const { checks, exitCode, failed } = await runChecks(context, flags)
  context.exit(exitCode, { reason: failedChecks(checks), errorCode: failed })
  if (flags.json === true) await context.print(`${jsonOf({ exitCode, checks })}\n`)
  else await context.tell(renderChecks(checks))
}

/** Reads settings as `sync` would. */
export const runChecks = async (context: CliContext, flags: CheckFlags) => {
  const { env, signal } = context
  const settings = await loadSettings({ env, signal, flags, withReports: true, mayFindFile: true })
  const { requireShardLayout } = await import('../storage/directory.js')
  await requireShardLayout(settings)
  const { log, runId } = await openTelemetry(settings, context)
  for (const warning of settings.warnings) log.warn({}, warning)
  return await checkAll({ settings, runId, log, signal })
}

/** Why `check` did not succeed; null if it did. */
export const failedChecks = (checks: readonly Check[] | null): string | null =>
  checks?.flatMap(({ what, ok, detail }) => (ok ? [] : [`${what}: ${detail}`])).join('; ') || null

/** A line for each check, for people. */
export const renderChecks = (checks: readonly Check[]): string => {
  const width = Math.max(...checks.map(({ what }) => what.length))
  return checks
    .map(({ what, ok, detail }) => `${ok ? 'ok    ' : 'FAILED'}  ${what.padEnd(width)}  ${detail}\n`)
    .join('')
}

/** Rejects only for a bug. The first failed check decides the exit code, and is `failed`. `clock` times the requests. */
export const checkAll = async (options: Work, clock: Clock = systemClock) => {
  const { settings, signal } = options
  const checks: Check[] = [
    { what: 'settings', ok: true, detail: settings.settingsFile ?? 'from the environment' },
  ]
  let exitCode: ExitCode = EXIT_CODES.complete
  let failed: ErrorCode | null = null
  /** Returns the code of the error; null if the check succeeded. */
  const add = (what: string, work: Promise<string>): Promise<ErrorCode | null> =>
    work.then(
      (detail) => {
        checks.push({ what, ok: true, detail })
        return null
      },
      (error: unknown) => fail(what, error),
    )
  const fail = (what: string, error: unknown): ErrorCode => {
    if (!(error instanceof ExpectedError)) throw error
    checks.push({ what, ok: false, detail: error.message })
    if (exitCode === EXIT_CODES.complete) {
      exitCode = error.exitCode
      failed = error.code
    }
    return error.code
  }
  const file = settings.metrics?.file ?? null
  if (file !== null) await add('metrics.file', checkMetricsFile(file, signal))
  checks.push(...addressChecks(settings))
  const { plan } = settings
  if (plan !== null) {
    const detail = await planDetail(settings, plan, signal)
    if (plan.problems.length === 0) checks.push({ what: 'plan', ok: true, detail })
    // A failed check, although a sync works with the other lines.
    else fail('plan', new ExpectedError('plan_unreadable', detail))
  }
  for (const { name, exclude } of settings.accounts) {
    const { namedBy, unknownNames } = await import('../warehouse/unknown-names.js')
    const named = namedBy(name, exclude)
    if (named.length === 0) continue
    const unknown = await fromPublished(settings, signal, (sql) => unknownNames(sql, named))
    const detail = `${counted(named.length, 'survey or project', 'surveys and projects')}${notShown(unknown)}`
    checks.push({ what: `exclude of ${name}`, ok: true, detail })
  }
  const { holdStorage } = await import('../storage/open.js')
  try {
    // Held during the requests, because a check beside a running sync would exceed the cap.
    await using storage = await holdStorage({ ...options, command: 'check' })
    checks.push(...(await storage.tryOut()).map((part) => ({ ...part, ok: true })))
    const { lackOfSpace } = await import('../storage/directory.js')
    const lack = await lackOfSpace(settings)
    if (lack !== null) fail('free space', new WarehouseError('warehouse_unusable', lack))
    for (const account of settings.accounts) {
      const { name, shared } = account
      const problem = shared && (await add(`shared cap of ${name}`, checkRedis(account, shared)))
      // Without its Redis the account sends nothing.
      if (problem === 'shared_cap_unreachable' && shared?.fallback === null) continue
      await add(`API of ${name}`, requestSurveys(options, account, storage, clock))
    }
  } catch (error) {
    fail(settings.storage === null ? 'warehouse' : 'storage', error)
  }
  return { checks, exitCode, failed }
}

const NAMES_MAX = 5

const NO_NAMES: readonly string[] = []

/** The names that `find` returns. None without a published state, or if the state cannot be read. */
const fromPublished = async (
  settings: Settings,
  signal: AbortSignal,
  find: (sql: Sql) => Promise<readonly string[]>,
): Promise<readonly string[]> => {
  const { findState } = await import('../storage/open.js')
  const { readPublished } = await import('../warehouse/status.js')
  try {
    const { published } = await findState(settings, signal)
    if (published === null) return NO_NAMES
    return await readPublished(published, signal, (database) => database.exclusively(find))
  } catch (error) {
    // The check of the warehouse reports this error.
    if (error instanceof ExpectedError && !isStop(error)) return NO_NAMES
    throw error
  }
}

const notShown = (unknown: readonly string[]): string =>
  unknown.length === 0 ? '' : `; the API does not show ${firstOf(unknown, ', ')}`

const firstOf = (names: readonly string[], separator: string, count = names.length): string => {
  const shown = names.slice(0, NAMES_MAX).map(onOneLine)
  const more = count > shown.length ? [`and ${humanCount(count - shown.length)} more`] : []
  return [...shown, ...more].join(separator)
}

/** How many lines the plan has, which lines are wrong, and which are about nothing that the API shows. */
const planDetail = async (settings: Settings, plan: PlanFile, signal: AbortSignal): Promise<string> => {
  const { path, rows, problems, rejectedLines } = plan
  if (rows === null)
    return `${path} cannot be read: ${firstOf(problems, '; ', rejectedLines)}; runs keep the plan of earlier runs`
  const { planLineName } = await import('../settings/plan-line.js')
  const { unknownLinesOf } = await import('../warehouse/plan.js')
  const unknown = await fromPublished(settings, signal, async (sql) => {
    const lines = await unknownLinesOf(sql, rows)
    return rows
      .filter(({ line }) => lines.has(line))
      .map((row) => `${planLineName(row, settings.accountNames)} (line ${row.line})`)
  })
  const wrong =
    problems.length === 0
      ? ''
      : `; ${counted(rejectedLines, 'line')} cannot be read, and runs work without: ${firstOf(problems, '; ', rejectedLines)}`
  return `${path} has ${counted(rows.length, 'line')}${notShown(unknown)}${wrong}`
}

const checkRedis = async (account: AccountSettings, shared: SharedRate): Promise<string> => {
  const { checkSharedCap } = await import('../http/rate-limit/shared/shared-cap.js')
  return await checkSharedCap({ account: account.name, owner: account, shared })
}

/** Makes one request without retries: a refusal or failure is the result of the check. */
const requestSurveys = async (
  { settings, log }: Work,
  account: AccountSettings,
  storage: Storage,
  clock: Clock,
): Promise<string> => {
  const { openSource } = await import('./warehouse-run.js')
  const limits = { ...settings.limits, attempts: 1, pausesMax: 1, patience: 0 }
  await using source = openSource({ account, settings, storage, limits, clock, log })
  const startedMs = clock.monotonicMs()
  let sentMs: number | null = null
  const allowance = {
    take: () => {
      if (sentMs !== null) throw new StoppedError('check makes one request only')
      sentMs = clock.monotonicMs()
    },
  }
  const { rejections, pagination } = await source.listSurveys(
    { updatedSince: null, page: 1 },
    { signal: storage.signal, allowance },
  )
  const waitedMs = (sentMs ?? startedMs) - startedMs
  const tookMs = Math.round(clock.monotonicMs() - startedMs - waitedMs)
  const surveys = counted(pagination.total_count, 'survey')
  const rows = counted(rejections.length, 'row')
  return [
    `${account.baseUrl} answers${through(account)} in ${tookMs} ms and shows ${surveys}`,
    ...(rejections.length === 0 ? [] : [`${rows} of its first page cannot be typed`]),
    ...(waitedMs < REPORTED_WAIT_MS_MIN ? [] : [`waited ${Math.round(waitedMs / 1_000)} s for a free slot`]),
  ].join('; ')
}

/** A shorter wait needs no explanation. */
const REPORTED_WAIT_MS_MIN = 1_000

const through = ({ proxy }: Pick<Target, 'proxy'>): string =>
  proxy === null ? '' : ` through the proxy ${proxy.address} (${proxy.variable})`

// The settings about reports of a run. None of their addresses is requested: a request would count as a report.

/** Throws an error `metrics_file_unwritable`. */
const checkMetricsFile = async (file: string, signal: AbortSignal): Promise<string> => {
  await unlessAborted(signal, requireWritable(file)).catch((error: unknown) => {
    throwIfAborted(signal)
    throw new ExpectedError(
      'metrics_file_unwritable',
      `${file} cannot be written: ${messageOf(error)}; runs work without it`,
    )
  })
  return `${file} can be written`
}

const requireWritable = async (file: string): Promise<void> => {
  await access(dirname(file), constants.W_OK)
  const stats = await stat(file).catch(ifMissing)
  if (stats !== null && !stats.isFile()) throw new Error('it is not a regular file')
}

/** A line for each address, with its host only. */
const addressChecks = ({ metrics, notify }: Pick<Settings, 'metrics' | 'notify'>): readonly Check[] => {
  const { start, success, failure, webhook, openlineage, digest } = notify ?? {}
  const reports = [start, success, failure, webhook, openlineage, digest?.chat, digest?.teams]
  const targets = [metrics?.pushgateway, ...reports]
  return [
    ...targets.flatMap((target) => {
      if (!target) return []
      const { origin } = new URL(target.url.reveal())
      const detail = `an address of ${origin}${through(target)}; check does not request it`
      return { what: target.setting, ok: true, detail }
    }),
    ...(digest?.mail ? [mailCheck(digest.mail)] : []),
  ]
}

const mailCheck = ({ setting, host, port, to }: MailTarget): Check => ({
  what: setting,
  ok: true,
  detail: `${counted(to.length, 'address', 'addresses')} through ${host}:${port}; check sends no mail`,
})
