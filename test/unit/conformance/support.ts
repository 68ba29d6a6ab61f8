/** Runs the rules against a server in this process: the reference server, or a copy of it with one fault. */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../../src/base/clock.js'
import { Secret } from '../../../src/base/secret.js'
import {
  type ConformanceOptions,
  type ConformanceReport,
  runConformance,
} from '../../../src/conformance/run.js'
import { MAIN } from '../../support/command/command.js'
import { type Finished, temporaryDirectory } from '../../support/files/temporary.js'
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

/** Of a built file below `build/reference-server`, in which `from` occurs exactly once. */
export type Change = readonly [file: string, from: string, to: string]

/** Starts a copy of the built reference server in which one text is replaced, with its own modules, in this process. */
export const startFaulty = async ([file, from, to]: Change, finished: Finished): Promise<Service> => {
  const project = dirname(dirname(MAIN))
  // Vitest imports files in node_modules as they are, and transforms all others.
  const copy = join(await temporaryDirectory(finished), 'node_modules', 'faulty-server')
  await mkdir(join(copy, 'build'), { recursive: true })
  for (const room of ['base', 'reference-server']) {
    await cp(join(project, 'build', room), join(copy, 'build', room), { recursive: true })
  }
  await cp(join(project, 'package.json'), join(copy, 'package.json'))
  await symlink(join(project, 'node_modules'), join(copy, 'node_modules'))
  const target = join(copy, 'build', 'reference-server', file)
  const pieces = (await readFile(target, 'utf8')).split(from)
  if (pieces.length !== 2) {
    throw new Error(`${pieces.length - 1} places in ${file} read ${JSON.stringify(from)}, not 1`)
  }
  await writeFile(target, pieces.join(to))
  const server = pathToFileURL(join(copy, 'build', 'reference-server', 'server.js')).href
  const { startReferenceServer } = await import(/* @vite-ignore */ server)
  const running = await startReferenceServer(WORLD)
  finished(() => running.close())
  return running
}
