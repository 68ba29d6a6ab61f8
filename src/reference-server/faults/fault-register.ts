/**
 * The faults of a running server: which of them act on a request, and how often they did. A survey is forgotten here,
 * before the request is answered, and comes back when the list is replaced.
 */
import type { Organization } from '../world/organization.js'
import { PURPOSES, Random } from '../world/random.js'
import { type Fault, matchesPath } from './declaration.js'
import { readFaults } from './read-faults.js'

interface FaultyWorld {
  readonly seed: number
  readonly organizations: readonly Organization[]
  /** The last moment that the world has. */
  readonly latest: number
}

/** A request that has passed the checks of path, method, credentials and cap. */
interface ServedRequest {
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
}

/** A fault as it was declared, completed by the defaults, with how often it matched and acted. */
interface CountedFault extends Fault {
  /** Includes requests on which it did not act, because of `after`, `times` or chance. */
  matched: number
  acted: number
}

/** Holds the faults, and replaces them as a whole. */
export class FaultRegister {
  readonly #world: FaultyWorld
  #faults: readonly CountedFault[] = []

  constructor(world: FaultyWorld) {
    this.#world = world
  }

  /**
   * Replaces all faults by `given`, a list of declarations, and starts counting again from 0. Throws a `FaultsError` and
   * replaces nothing when a declaration is wrong. Each line of the error begins with `where`.
   */
  replace(given: unknown, where = ''): void {
    const { organizations, latest } = this.#world
    const hasSurvey = (id: number) => organizations.some((one) => one.createsSurvey(id, latest))
    const faults = readFaults(given, hasSurvey, where)
    for (const organization of organizations) organization.rememberSurveys()
    this.#faults = faults.map((fault) => ({ ...fault, matched: 0, acted: 0 }))
  }

  /**
   * The faults that act on `request`, in the order of the list, by `match`, then `after`, `times` and `probability`. A survey
   * that one of them forgets is gone when this returns. Chance is drawn from a stream for each fault and each of its
   * matching requests, so the same requests meet the same faults, whatever else is in the list.
   */
  actingOn(request: ServedRequest): readonly ActingFault[] {
    const { seed, organizations } = this.#world
    return this.#faults.flatMap((fault, place) => {
      if (!matches(fault, request)) return []
      fault.matched += 1
      if (fault.matched <= fault.after) return []
      if (fault.times !== 'always' && fault.acted >= fault.times) return []
      const random = new Random({ seed, account: 0 }, fault.matched, PURPOSES.faults, place)
      if (!random.chance(fault.probability)) return []
      fault.acted += 1
      const { action } = fault
      if (action.forget !== undefined) for (const one of organizations) one.forgetSurvey(action.forget)
      return [{ place, action }]
    })
  }

  /** In the order of the list. */
  list(): readonly Readonly<CountedFault>[] {
    return this.#faults
  }
}

/** Whether all declared parts hold. */
const matches = ({ match: { path, page } }: Fault, request: ServedRequest): boolean =>
  (path === undefined || matchesPath(path, request.path)) && (page === undefined || page === pageOf(request))

/** The requested page; null where there are no pages, or where the parameter is ambiguous or invalid. */
const pageOf = ({ paged, query }: ServedRequest): number | null => {
  if (!paged) return null
  const [text = '1', ...others] = query.getAll('page')
  return others.length === 0 && /^[1-9]\d*$/.test(text) ? Number(text) : null
}
