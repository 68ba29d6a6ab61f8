/** Checks the settings about reports of a run, and requests none of their addresses: a request would count as a report. */
import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { throwIfAborted, unlessAborted } from '../../base/clock.js'
import { ExpectedError, hasCode, messageOf } from '../../base/errors.js'
import type { Target } from '../../model/monitoring.js'
import type { Settings } from '../../settings/settings.js'
import type { Check } from '../text/checks.js'

/** Throws an error `metrics_file_unwritable`. */
export const checkMetricsFile = async (file: string, signal: AbortSignal): Promise<Check> => {
  await unlessAborted(signal, requireWritable(file)).catch((error: unknown) => {
    throwIfAborted(signal)
    throw new ExpectedError(
      'metrics_file_unwritable',
      `${file} cannot be written: ${messageOf(error)}; runs work without it`,
    )
  })
  return { what: 'metrics.file', ok: true, detail: `${file} can be written` }
}

const requireWritable = async (file: string): Promise<void> => {
  await access(dirname(file), constants.W_OK)
  const found = await stat(file).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (found !== null && !found.isFile()) throw new Error('it is not a regular file')
}

/** A line for each address, with its host only. */
export const addressChecks = ({
  metrics,
  notify,
}: Pick<Settings, 'metrics' | 'notify'>): readonly Check[] => {
  const { start, success, failure, webhook } = notify ?? NO_ADDRESSES
  const addresses: readonly (readonly [string, Target | null])[] = [
    ['metrics.pushgateway', metrics?.pushgateway ?? null],
    ['notify.start', start],
    ['notify.success', success],
    ['notify.failure', failure],
    ['notify.webhook', webhook],
  ]
  return addresses.flatMap(([what, target]) =>
    target === null ? [] : [{ what, ok: true, detail: described(target) }],
  )
}

const NO_ADDRESSES = { start: null, success: null, failure: null, webhook: null }

const described = ({ url, proxy }: Target): string => {
  const via = proxy === null ? '' : ` through the proxy ${proxy.address} (${proxy.variable})`
  return `an address of ${new URL(url.reveal()).origin}${via}; check does not request it`
}
