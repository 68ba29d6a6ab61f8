/**
 * Holds the faults of a running server, and replaces them as a whole. A survey is forgotten here, before the request is
 * answered, and comes back when the list is replaced.
 */

import { FaultsError } from '../errors.js'
import type { Organization } from '../world/organization.js'
import { type FaultySurroundings, faultsSchema } from './declaration.js'
import { type ActingFault, type CountedFault, FaultCounter } from './fault-counter.js'
import type { ServedRequest } from './match.js'
import { problemLines } from './problems.js'

export interface FaultyWorld {
  readonly seed: number
  readonly organizations: readonly Organization[]
  /** Paths of the endpoints, such as `/surveys/{SURVEY_ID}/sample_sources`. */
  readonly paths: readonly string[]
  /** The last moment that the world has. */
  readonly latest: number
}

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
    const result = faultsSchema(this.#surroundings()).safeParse(given)
    if (!result.success) {
      throw new FaultsError(problemLines(result.error.issues, given).map((line) => `${where}${line}`))
    }
    for (const organization of organizations) organization.rememberSurveys()
    this.#faults = new FaultCounter(result.data, seed)
  }

  /** The faults that act on `request`. A survey that one of them forgets is gone when this returns. */
  meet(request: ServedRequest): readonly ActingFault[] {
    const acting = this.#faults.meet(request)
    for (const { action } of acting) {
      if (action.forget === undefined) continue
      for (const organization of this.#world.organizations) organization.forgetSurvey(action.forget)
    }
    return acting
  }

  list(): readonly CountedFault[] {
    return this.#faults.list()
  }

  #surroundings(): FaultySurroundings {
    const { organizations, paths, latest } = this.#world
    return {
      accounts: organizations.map(({ identity }) => identity.name),
      paths,
      hasSurvey: (id) => organizations.some((organization) => organization.createsSurvey(id, latest)),
    }
  }
}
