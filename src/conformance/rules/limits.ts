/** API document, "Limits" and "Errors": above the cap the service answers 429. Checked with --exceed-cap only. */
import { Unseen } from '../unseen.js'
import { fail, PASS, type Rule } from '../verdict.js'

export const LIMIT_RULES: readonly Rule[] = [
  {
    id: 'limits.refusal',
    section: 'Limits',
    text: 'requests beyond the cap are answered with 429',
    last: true,
    check: async ({ burst }) => {
      const { sent, last } = await burst()
      if (last.status === 429) return PASS
      if (last.status !== 200) return fail(`${sent} requests at once`, '200, then 429', `${last.status}`)
      throw new Unseen(`${sent} requests at once were all answered: the cap of this account is higher`)
    },
  },
]
