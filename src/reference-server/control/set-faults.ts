/** The body of `PUT /_reference/faults`: the list that takes the place of all faults. */
import { Refusal } from '../api/refusal.js'
import type { FaultRegister } from '../faults/fault-register.js'
import { FaultsError } from '../faults/faults-error.js'

/** Replaces `faults` as the JSON text `body` says. Refuses with 400, and replaces nothing, when it cannot. */
export const setFaults = (faults: FaultRegister, body: string): void => {
  try {
    faults.replace(parseJson(body))
  } catch (error) {
    if (!(error instanceof FaultsError)) throw error
    throw new Refusal(400, error.message)
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'the body is not JSON: send a list of faults, [] for none')
  }
}
