/** Finds environment variables that look like settings, but are none. */
import { nearest } from '../base/suggest.js'
import type { Environment } from './environment.js'
import { SETTING_NAMES } from './names.js'
import type { Problem } from './problems.js'

const PREFIX = 'FIELDWORK_SYNC_'
const VARIABLES = SETTING_NAMES.flatMap(({ variable }) => variable?.slice(PREFIX.length) ?? [])

/** The variables that Kubernetes sets in every pod for a service named `fieldwork-sync`, or `fieldwork-sync-…`. */
const OF_A_SERVICE = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/

/**
 * The variables that begin like our settings but are none: `problems` has the names that are nearly right, `warnings` a sentence about all
 * others. `inFile` are the variables that the settings file uses, such as FIELDWORK_SYNC_API_TOKEN_2.
 */
export const unknownVariables = (env: Environment, inFile: ReadonlySet<string>) => {
  const problems: Problem[] = []
  const others: string[] = []
  for (const [where, value] of Object.entries(env)) {
    const name = where.startsWith(PREFIX) ? where.slice(PREFIX.length) : ''
    const isKnown = value === '' || VARIABLES.includes(name) || inFile.has(where) || OF_A_SERVICE.test(where)
    if (name === '' || isKnown) continue
    const isLonger = VARIABLES.some((variable) => name.startsWith(variable))
    const near = isLonger ? null : nearest(name, VARIABLES)
    if (near === null) others.push(where)
    else problems.push({ where, text: `is not a setting; did you mean ${PREFIX}${near}?` })
  }
  return { problems, warnings: others.length === 0 ? [] : [notSettings(others)] }
}

const notSettings = (names: readonly string[]): Problem => {
  const [are, them] = names.length === 1 ? ['is not a setting', 'it'] : ['are not settings', 'them']
  const text = `${are}, and the settings file does not use ${them}. Correct the name, or unset it`
  return { where: names.join(', '), text }
}
