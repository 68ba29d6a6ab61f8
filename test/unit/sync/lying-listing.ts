/**
 * An API whose list of surveys changes between pages, and whose answers may lie, as a script says. The answers are JSON text
 * behind the HTTP port, so that all of `survey-api` reads them.
 */
import fc from 'fast-check'
import type { HttpClient } from '../../../src/http/client.js'
import { attemptsExhausted } from '../../../src/http/errors.js'
import { pageOf } from '../../support/api/api-document.js'
import { memorySource } from '../../support/api/memory-source.js'
import { survey } from '../survey-api/example-rows.js'

/** The fields of an answer that differ from the truth. */
export interface Lie {
  readonly current_page?: unknown
  readonly next_page?: unknown
  readonly total_pages?: unknown
  readonly total_count?: unknown
  /** Ids of the rows; 0 stands for a row whose id cannot be read. */
  readonly rows?: readonly number[]
}

export interface Step {
  /** Before the answer a survey is created, or the nth survey of the list is removed. */
  readonly change: 'create' | number | null
  /** Makes the lie about the requested page; null for a true answer. */
  readonly lie: ((page: number) => Lie) | null
  readonly fails: boolean
  /** Seconds of the server's clock since the previous answer; negative when it goes back; null for an answer without a date. */
  readonly afterSeconds: number | null
}

export interface SentRequest {
  readonly page: number
  readonly since: string | null
  /** Milliseconds; null when the answer had no date. */
  readonly dateMs: number | null
  /** Null when the request failed or its answer was refused. */
  answered: {
    readonly rows: readonly number[]
    readonly total: unknown
    readonly next: unknown
  } | null
  /** The true list at that moment. */
  readonly truth: readonly number[]
  readonly lied: boolean
}

const HUGE = 2 ** 53 - 1
const somePage = fc.oneof(
  fc.integer({ min: -1, max: 5 }),
  fc.constantFrom<unknown>(HUGE, null, '2', 1.5, true, [], {}),
)
const lie: fc.Arbitrary<(page: number) => Lie> = fc.oneof(
  // Plausible: only the contents are wrong.
  fc
    .record({
      rows: fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 4 }),
      more: fc.boolean(),
      total: fc.nat(9),
    })
    .map(({ rows, more, total }) => (page: number) => ({
      rows,
      current_page: page,
      next_page: more ? page + 1 : null,
      total_pages: more ? page + 1 : page,
      total_count: Math.max(total, more ? page + 1 : page),
    })),
  fc.constantFrom(
    (page: number) => ({ next_page: page }),
    () => ({ next_page: 1 }),
    (page: number) => ({ next_page: page - 1 }),
    (page: number) => ({ next_page: page + 2, total_pages: page + 2 }),
    (page: number) => ({ next_page: page + 1, total_pages: HUGE, total_count: HUGE }),
    (page: number) => ({ next_page: page + 1, total_pages: page + 1, rows: [] }),
    () => ({ next_page: null, total_pages: 1 }),
    () => ({ rows: [0, 0] }),
  ),
  fc
    .record(
      { current_page: somePage, next_page: somePage, total_pages: somePage, total_count: somePage },
      { requiredKeys: [] },
    )
    .map((one) => () => one),
)

const change = fc.oneof(
  { weight: 6, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant('create' as const) },
  { weight: 1, arbitrary: fc.nat(5) },
)
const afterSeconds = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 90 }) },
  fc.constantFrom(0, -7_200, null),
)

const stepOf = (lies: fc.Arbitrary<Step['lie']>): fc.Arbitrary<Step> =>
  fc.record({
    change,
    lie: lies,
    fails: fc.oneof({ weight: 15, arbitrary: fc.constant(false) }, fc.constant(true)),
    afterSeconds,
  })

/** True answers about a list that changes. */
export const honestStep = stepOf(fc.constant(null))
export const lyingStep = stepOf(fc.option(lie, { freq: 3 }))

const another = (page: number, rows: readonly number[]): Lie => {
  const next = page + 1
  return { rows, next_page: next, total_pages: next, total_count: next }
}

/** How the API answers every request after the end of the script. */
export const ENDLESS: Readonly<Record<string, (page: number) => Lie>> = {
  truth: () => ({}),
  'always a next page, with a new survey on each': (page) => another(page, [1_000 + page]),
  'always a next page, with the same surveys': (page) => another(page, [1, 2]),
  'always a next page, with unreadable rows': (page) => another(page, [0]),
  'fewer surveys than it announces': () => ({ rows: [1], next_page: null, total_pages: 1, total_count: 5 }),
  'always a next page, with no rows': (page) => ({
    ...another(page, []),
    ...{ total_pages: HUGE, total_count: HUGE },
  }),
}

export interface World {
  readonly surveys: number
  readonly pageSize: number
  readonly steps: readonly Step[]
  readonly endless: string
}

export const worldOf = (step: fc.Arbitrary<Step>, endless: readonly string[]): fc.Arbitrary<World> =>
  fc.record({
    surveys: fc.nat(7),
    pageSize: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(step, { maxLength: 14 }),
    endless: fc.constantFrom(...endless),
  })

/** The HTTP port of such an API, and the requests that it got. */
export const lyingApi = (
  world: World,
  startMs: number,
): { readonly http: HttpClient; readonly requests: SentRequest[] } => {
  const requests: SentRequest[] = []
  let list = Array.from({ length: world.surveys }, (_, index) => world.surveys - index)
  let created = world.surveys
  let serverMs = startMs
  const answer = (page: number, since: string | null) => {
    const step = world.steps[requests.length] ?? END
    if (step.change === 'create') {
      created += 1
      list = [created, ...list]
    } else if (step.change !== null) list = list.filter((_, index) => index !== step.change)
    serverMs += (step.afterSeconds ?? 1) * 1_000
    const dateMs = step.afterSeconds === null ? null : serverMs
    const lies = step.lie ?? (step === END ? ENDLESS[world.endless] : undefined)
    const honest = pageOf(list, page, world.pageSize)
    const { rows = honest.rows, ...paging } = lies?.(page) ?? {}
    const pagination = { ...honest.pagination, ...paging }
    const answered = step.fails ? null : { rows, total: pagination.total_count, next: pagination.next_page }
    const lied = lies !== undefined && lies !== ENDLESS.truth
    requests.push({ page, since, dateMs, answered, truth: list, lied })
    if (step.fails) throw attemptsExhausted({ request: 'GET /surveys', account: 'acme' }, 6, new Error('503'))
    const text = JSON.stringify({ surveys: rows.map((id) => surveyJson(id, requests.length)), pagination })
    return { body: JSON.parse(text) as unknown, text, dateMs }
  }
  const http: HttpClient = {
    getJson: async (_, query, { allowance }) => {
      allowance.take()
      await Promise.resolve()
      const parameters = new Map(query)
      return answer(Number(parameters.get('page')), parameters.get('updated_since') ?? null)
    },
    usage: memorySource().usage,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  return { http, requests }
}

const END: Step = { change: null, lie: null, fails: false, afterSeconds: 1 }

/** `version` is the number of the answer that contains the row. */
const surveyJson = (id: number, version: number) => ({
  ...survey,
  id: id === 0 ? `row ${version}` : id,
  title: `answer ${version}`,
})
