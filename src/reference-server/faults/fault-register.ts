/**
 * The faults of a running server: which of them act on a request, and how often they did. A survey is forgotten here,
 * before the request is answered, and comes back when the list is replaced.
 */
import type { Organization } from '../world/organization.js'
import { PURPOSES, Random } from '../world/random.js'
import type { Fault, FaultTargets } from './declaration.js'
import { matchesPath } from './path-pattern.js'
import { readFaults } from './read-faults.js'

interface FaultyWorld {
  readonly seed: number
  readonly organizations: readonly Organization[]
  /** The last moment that the world has. */
  readonly latest: number
}

/** A request that has passed the checks of path, method, credentials and cap. */
interface ServedRequest {
  /** Name of the account. */
  readonly account: string
  /** With `/api/v1`, as it was sent. */
  readonly path: string
  readonly query: URLSearchParams
  /** Whether the answer is one page of a list. */
  readonly paged: boolean
}

/** A fault that acts on one request. */
export interface ActingFault {
  /** Place in the list, from 0. */
  readonly place: number
  readonly action: Fault['action']
  /** For random parts of the action. */
  readonly random: Random
}

/** A fault as it was declared, completed by the defaults, with how often it matched and acted. */
interface CountedFault extends Fault {
  /** Includes requests on which it did not act, because of `after`, `times` or chance. */
  readonly matched: number
  readonly acted: number
}

/** Holds the faults, and replaces them as a whole. */
export class FaultRegister {
  readonly #world: FaultyWorld
  #faults: FaultCounter

  constructor(world: FaultyWorld) {
    this.#world = world
    this.#faults = new FaultCounter([], world.seed)
  }

  /**
   * Replaces all faults by `given`, a list of declarations, and starts counting again from 0. Throws a `FaultsError` and
   * replaces nothing when a declaration is wrong. Each line of the error begins with `where`.
   */
  replace(given: unknown, where = ''): void {
    const { organizations, seed } = this.#world
    const faults = readFaults(given, this.#targets(), where)
    for (const organization of organizations) organization.rememberSurveys()
    this.#faults = new FaultCounter(faults, seed)
  }

  /** The faults that act on `request`. A survey that one of them forgets is gone when this returns. */
  actingOn(request: ServedRequest): readonly ActingFault[] {
    const acting = this.#faults.actingOn(request)
    for (const { action } of acting) {
      if (action.forget === undefined) continue
      for (const organization of this.#world.organizations) organization.forgetSurvey(action.forget)
    }
    return acting
  }

  list(): readonly CountedFault[] {
    return this.#faults.list()
  }

  #targets(): FaultTargets {
    const { organizations, latest } = this.#world
    return {
      accounts: organizations.map(({ identity }) => identity.name),
      hasSurvey: (id) => organizations.some((organization) => organization.createsSurvey(id, latest)),
    }
  }
}

/**
 * Decides which faults act on which request, by `match`, then `after`, `times` and `probability`, and counts. Chance is
 * drawn from a stream for each fault and each of its matching requests, so the same requests meet the same faults,
 * whatever else is in the list.
 */
export class FaultCounter {
  readonly #seed: number
  readonly #counted: readonly { readonly fault: Fault; matched: number; acted: number }[]
  #requests = 0

  constructor(faults: readonly Fault[], seed: number) {
    this.#seed = seed
    this.#counted = faults.map((fault) => ({ fault, matched: 0, acted: 0 }))
  }

  /** Counts `request`, and returns the faults that act on it, in the order of the list. */
  actingOn(request: ServedRequest): readonly ActingFault[] {
    this.#requests += 1
    return this.#counted.flatMap((counted, place) => {
      const { fault } = counted
      if (!matches(fault.match, request, this.#requests)) return []
      counted.matched += 1
      if (counted.matched <= fault.after) return []
      if (fault.times !== 'always' && counted.acted >= fault.times) return []
      const random = new Random({ seed: this.#seed, account: 0 }, counted.matched, PURPOSES.faults, place)
      if (!random.chance(fault.probability)) return []
      counted.acted += 1
      return [{ place, action: fault.action, random }]
    })
  }

  /** In the order of the list. */
  list(): readonly CountedFault[] {
    return this.#counted.map(({ fault, matched, acted }) => ({ ...fault, matched, acted }))
  }
}

/** Whether all declared parts hold. `number` is the request's place, from 1, among all that reached the faults. */
const matches = (match: Fault['match'], request: ServedRequest, number: number): boolean => {
  const { path, account, page, query = {} } = match
  return (
    (path === undefined || matchesPath(path, request.path)) &&
    (account === undefined || account === request.account) &&
    (page === undefined || page === pageOf(request)) &&
    (match.request === undefined || match.request === number) &&
    Object.entries(query).every(([name, text]) => request.query.getAll(name).includes(text))
  )
}

/** The requested page; null where there are no pages, or where the parameter is ambiguous or invalid. */
const pageOf = ({ paged, query }: ServedRequest): number | null => {
  if (!paged) return null
  const [text = '1', ...others] = query.getAll('page')
  return others.length === 0 && /^[1-9]\d*$/.test(text) ? Number(text) : null
}
