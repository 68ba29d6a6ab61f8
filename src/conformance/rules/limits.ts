/** API document, "Limits" and "Errors": beyond the cap comes 429. Looked at only when it is asked for. */
import { fail, PASS, type Rule, unseen } from '../verdict.js'

export const LIMIT_RULES: readonly Rule[] = [
  {
    id: 'limits.refusal',
    section: 'Limits',
    text: 'beyond the request rate the answer is 429',
    last: true,
    check: async ({ burst }) => {
      const { sent, last } = await burst()
      if (last.status === 429) return PASS
      if (last.status !== 200) return fail(`${sent} requests at once`, '200, then 429', `${last.status}`)
      return unseen(`${sent} requests at once were all answered: the cap of this account is higher`)
    },
  },
]
