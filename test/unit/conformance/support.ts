/** Runs the rules against a server in this process: the reference server, or a copy of it with one fault. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { systemClock } from '../../../src/base/clock.js'
import { Secret } from '../../../src/base/secret.js'
import {
  type ConformanceOptions,
  type ConformanceReport,
  runConformance,
} from '../../../src/conformance/run.js'
import { buildMutantUntil } from '../../support/command/mutant.js'
import type { Finished } from '../../support/files/temporary.js'
import { SILENT } from '../../support/log/test-log.js'

/** A small world with several pages, statuses, sources and interviews. */
export const WORLD = {
  port: 0,
  seed: 12,
  surveys: 40,
  pageSize: 12,
  rateWindow: 'none',
  clock: 'frozen',
} as const

interface Service {
  readonly baseUrl: string
  readonly accounts: readonly { readonly id: number; readonly token: string }[]
}

export const conform = (
  { baseUrl, accounts }: Service,
  options: Partial<ConformanceOptions> = {},
): Promise<ConformanceReport> =>
  runConformance({
    account: 'default',
    baseUrl,
    id: accounts[0]?.id ?? 0,
    token: new Secret(accounts[0]?.token ?? ''),
    proxy: null,
    rate: { requests: 1_000, perMs: 1_000 },
    requestTimeoutMs: 20_000,
    responseBytesMax: 1_000_000,
    requestsMax: 100,
    exceedCap: false,
    clock: systemClock,
    log: SILENT,
    signal: new AbortController().signal,
    ...options,
  })

export const idsOf = (
  { rules }: ConformanceReport,
  verdict: 'pass' | 'fail' | 'not_observable',
): readonly string[] => rules.filter((rule) => rule.verdict.verdict === verdict).map(({ id }) => id)

export const verdictOf = ({ rules }: ConformanceReport, id: string) =>
  rules.find((rule) => rule.id === id)?.verdict

export const observationOf = ({ observations }: ConformanceReport, topic: string): string =>
  observations.find((one) => one.topic === topic)?.told ?? 'there is no such observation'

/** Of a compiled file below `dist/reference-server`, in which `from` occurs exactly once. */
export type Change = readonly [file: string, from: string, to: string]

/** Starts a copy of the built reference server in which one text is replaced, with its own modules, in this process. */
export const startFaulty = async ([file, from, to]: Change, finished: Finished): Promise<Service> => {
  const main = await buildMutantUntil(finished, { file: `reference-server/${file}`, from, to })
  // Node loads it: Vitest would look for the sources of the copy.
  const server = createRequire(import.meta.url)(join(dirname(main), 'reference-server/server.js'))
  const running = await server.startReferenceServer(WORLD)
  finished(() => running.close())
  return running
}
