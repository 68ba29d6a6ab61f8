/** API document, "Authentication": every request must carry both headers, and without them no data is shown. */
import { isObject } from '../json.js'
import type { Credentials } from '../read/sender.js'
import { fail, PASS, type Rule } from '../verdict.js'

const refused = (credentials: Credentials, how: string): Rule => ({
  id: `authentication.${credentials}`,
  section: 'Authentication',
  text: `a request ${how} is refused`,
  check: async ({ reader }) => {
    const { asked, status, json } = await reader.raw('/surveys', [], credentials)
    const surveys = isObject(json) ? json.surveys : null
    if (status !== 200 && !Array.isArray(surveys)) return PASS
    const got = Array.isArray(surveys) ? `${status} with ${surveys.length} surveys` : '200'
    return fail(`${asked} ${how}`, 'a status other than 200, and no data', got)
  },
})

export const AUTHENTICATION_RULES: readonly Rule[] = [
  refused('none', 'without Authorization-ID and Authorization-Token'),
  refused('id-only', 'without Authorization-Token'),
  refused('token-only', 'without Authorization-ID'),
  refused('wrong-token', 'with a wrong Authorization-Token'),
]
