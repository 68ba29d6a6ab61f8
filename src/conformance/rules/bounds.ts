/**
 * API document, "View the fieldwork progress of a survey": both bounds keep an interview that started at the very
 * moment of the bound. The search for such a moment takes many requests, so these rules come last.
 */
import { formatMoment } from '../instant.js'
import { MOVED } from '../read/evidence.js'
import { countIn } from '../read/start.js'
import { Unseen } from '../unseen.js'
import { fail, PASS, type Rule } from '../verdict.js'

const SECTION = 'View the fieldwork progress of a survey'

export const BOUND_RULES: readonly Rule[] = [
  {
    id: 'windows.before-inclusive',
    section: SECTION,
    text: 'started_before keeps an interview that started at that very moment',
    last: true,
    check: async ({ reader, start }) => {
      const { surveyId, at, isIncluded, earlier } = await start()
      if (isIncluded) return PASS
      const { asked, total } = await reader.progress(surveyId, [['started_before', formatMoment(at)]])
      if (total !== earlier) throw new Unseen(MOVED)
      return fail(
        asked,
        `more than ${earlier} interviews, as with a bound one microsecond later`,
        `${earlier}`,
      )
    },
  },
  {
    id: 'windows.after-inclusive',
    section: SECTION,
    text: 'started_after keeps an interview that started at that very moment',
    last: true,
    check: async ({ reader, start }) => {
      const { surveyId, at, earlier } = await start()
      const whole = await countIn(reader, surveyId, [])
      const { asked, total } = await reader.progress(surveyId, [['started_after', formatMoment(at)]])
      if (total === whole - earlier) return PASS
      const earlierNow = await countIn(reader, surveyId, [['started_before', formatMoment(at - 1n)]])
      if (earlierNow !== earlier || (await countIn(reader, surveyId, [])) !== whole) throw new Unseen(MOVED)
      return fail(
        asked,
        `${whole - earlier} interviews: ${whole} in all, ${earlier} of them earlier`,
        `${total}`,
      )
    },
  },
]
