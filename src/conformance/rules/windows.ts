/**
 * API document, "View the fieldwork progress of a survey": `started_after` and `started_before`. On a survey with few
 * interviews and, if there is one, none coming in any more.
 */
import { formatMoment, MICROS_PER_SECOND } from '../instant.js'
import { compare, MOVED, sameCounts } from '../read/evidence.js'
import type { ProgressReading } from '../read/reader.js'
import type { Query } from '../read/sender.js'
import { countIn, lifeOf } from '../read/start.js'
import { fail, PASS, type Rule, unseen, type Verdict } from '../verdict.js'
import { FAR_FUTURE } from './updated-since.js'

const SECTION = 'View the fieldwork progress of a survey'
const FAR_PAST = '1970-01-01T00:00:00Z'

const empty = (id: string, parameter: string, moment: string, text: string): Rule => ({
  id,
  section: SECTION,
  text,
  check: async ({ reader, windowSubject }): Promise<Verdict> => {
    const subject = await windowSubject()
    const { asked, total } = await reader.progress(subject.id, [[parameter, moment]])
    if (total === null) return unseen('the interviews of a status cannot be read')
    return total === 0 ? PASS : fail(asked, 'no interviews', `${total} of ${subject.total}`)
  },
})

const whole = (id: string, parameter: string, moment: string, text: string): Rule => ({
  id,
  section: SECTION,
  text,
  check: async ({ reader, windowSubject }): Promise<Verdict> => {
    const subject = await windowSubject()
    let known: ProgressReading | null = subject.progress
    const compared = await compare(
      async () => {
        const reading = known ?? (await reader.progress(subject.id))
        known = null
        return reading
      },
      () => reader.progress(subject.id, [[parameter, moment]]),
      sameCounts,
      sameCounts,
    )
    if (compared.outcome === 'agree') return PASS
    if (compared.outcome === 'moved') return unseen(MOVED)
    return fail(
      compared.other.asked,
      `all ${compared.one.total} interviews of the survey`,
      `${compared.other.total}`,
    )
  },
})

const HALF_SECOND = MICROS_PER_SECOND / 2n
const ROUNDS_MAX = 2

const cover: Rule = {
  id: 'windows.cover',
  section: SECTION,
  text: 'started_after=T and started_before=T together hold every interview, and share only those of T',
  check: async (evidence): Promise<Verdict> => {
    const subject = await evidence.windowSubject()
    const { from, to } = lifeOf(evidence.reader, evidence.clock, subject)
    const middle = formatMoment(
      from + ((to - from) / 2n / MICROS_PER_SECOND) * MICROS_PER_SECOND + HALF_SECOND,
    )
    const count = (query: Query) => countIn(evidence.reader, subject.id, query)
    let before = subject.total
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const later = await count([['started_after', middle]])
      const earlier = await count([['started_before', middle]])
      const both = await count([
        ['started_after', middle],
        ['started_before', middle],
      ])
      if (later + earlier - both === before) return PASS
      const again = await count([])
      if (again === before) {
        const asked = `GET …/${subject.id}/fieldwork_progress, started_after=${middle} and started_before=${middle}`
        return fail(
          asked,
          `${before} interviews in all`,
          `${later} after, ${earlier} before, ${both} in both`,
        )
      }
      before = again
    }
    return unseen(MOVED)
  },
}

export const WINDOW_RULES: readonly Rule[] = [
  empty(
    'windows.after-future',
    'started_after',
    FAR_FUTURE,
    'started_after in the far future keeps no interview',
  ),
  empty(
    'windows.before-past',
    'started_before',
    FAR_PAST,
    'started_before in the far past keeps no interview',
  ),
  whole(
    'windows.after-past',
    'started_after',
    FAR_PAST,
    'started_after in the far past keeps all, without an upper bound',
  ),
  whole(
    'windows.before-future',
    'started_before',
    FAR_FUTURE,
    'started_before in the far future keeps all, without a lower bound',
  ),
  cover,
]
