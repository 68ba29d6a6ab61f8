/** API document, "Authentication": every request must carry both headers, and no data is shown without. */
import { isObject } from '../json.js'
import type { Evidence } from '../read/evidence.js'
import type { Credentials } from '../read/sender.js'
import { fail, PASS, type Rule, type Verdict } from '../verdict.js'

const check =
  (credentials: Credentials) =>
  async ({ reader }: Evidence): Promise<Verdict> => {
    const { asked, status, json } = await reader.raw('/surveys', [], credentials)
    const surveys = isObject(json) ? json.surveys : null
    const expected = 'a status other than 200, and no data'
    const how = `${asked} ${WITH[credentials]}`
    if (Array.isArray(surveys)) return fail(how, expected, `${status} with ${surveys.length} surveys`)
    return status === 200 ? fail(how, expected, '200') : PASS
  }

const WITH: Readonly<Record<Credentials, string>> = {
  both: 'with both headers',
  none: 'without Authorization-ID and Authorization-Token',
  id_only: 'without Authorization-Token',
  token_only: 'without Authorization-ID',
  wrong_token: 'with a wrong Authorization-Token',
}

const rule = (id: string, credentials: Credentials): Rule => ({
  id: `authentication.${id}`,
  section: 'Authentication',
  text: `a request ${WITH[credentials]} is not answered`,
  check: check(credentials),
})

export const AUTHENTICATION_RULES: readonly Rule[] = [
  rule('none', 'none'),
  rule('id-only', 'id_only'),
  rule('token-only', 'token_only'),
  rule('wrong-token', 'wrong_token'),
]
