/** API document, "View the fieldwork progress of a survey": `started_after` and `started_before`. */
import { formatMoment, MICROS_PER_SECOND } from '../fields.js'
import { compare, MOVED, sameCounts } from '../read/evidence.js'
import type { Query } from '../read/sender.js'
import { countIn, lifeOf } from '../read/start.js'
import { type Rule, rulesOf } from '../rule.js'
import { fail, PASS, Unseen } from '../verdict.js'
import { FAR_FUTURE } from './updated-since.js'

const rule = rulesOf('View the fieldwork progress of a survey')
const FAR_PAST = '1970-01-01T00:00:00Z'

const none = (id: string, parameter: string, moment: string, text: string): Rule =>
  rule(id, `${parameter} ${text}`, async ({ reader, windowSubject }) => {
    const subject = await windowSubject()
    const { request, total } = await reader.progress(subject.id, [[parameter, moment]])
    if (total === null) throw new Unseen('the number of interviews of a status cannot be read')
    return total === 0 ? PASS : fail(request, 'no interviews', `${total} of ${subject.total}`)
  })

const all = (id: string, parameter: string, moment: string, text: string): Rule =>
  rule(id, `${parameter} ${text}`, async ({ reader, windowSubject }) => {
    const { id: surveyId, progress } = await windowSubject()
    return await compare({
      known: progress,
      readOne: () => reader.progress(surveyId),
      readOther: () => reader.progress(surveyId, [[parameter, moment]]),
      isSame: sameCounts,
      differ: (a, b) => fail(b.request, `all ${a.total} interviews of the survey`, `${b.total}`),
    })
  })

const HALF_SECOND = MICROS_PER_SECOND / 2n

export const WINDOW_RULES: readonly Rule[] = [
  none('windows.after-future', 'started_after', FAR_FUTURE, 'in the far future keeps no interview'),
  none('windows.before-past', 'started_before', FAR_PAST, 'in the far past keeps no interview'),
  all('windows.after-past', 'started_after', FAR_PAST, 'in the far past keeps all: there is no upper bound'),
  all(
    'windows.before-future',
    'started_before',
    FAR_FUTURE,
    'in the far future keeps all: there is no lower bound',
  ),
  rule(
    'windows.cover',
    'started_after=T and started_before=T together keep every interview, and only those of T twice',
    async ({ reader, clock, windowSubject }) => {
      const subject = await windowSubject()
      const { from, to } = lifeOf(reader, clock, subject)
      const seconds = (to - from) / 2n / MICROS_PER_SECOND
      const middle = formatMoment(from + seconds * MICROS_PER_SECOND + HALF_SECOND)
      const count = (query: Query) => countIn(reader, subject.id, query)
      const [after, before] = [['started_after', middle] as const, ['started_before', middle] as const]
      const readParts = async () => {
        const later = await count([after])
        const earlier = await count([before])
        const both = await count([after, before])
        return { all: later + earlier - both, parts: `${later} after, ${earlier} before, ${both} in both` }
      }
      const request = `GET …/${subject.id}/fieldwork_progress, started_after=${middle} and started_before=${middle}`
      return await compare({
        known: { all: subject.total, parts: '' },
        readOne: async () => ({ all: await count([]), parts: '' }),
        readOther: readParts,
        isSame: (a, b) => a.all === b.all,
        differ: ({ all }, { parts }) => fail(request, `${all} interviews in all`, parts),
      })
    },
  ),
  // The search for the moment at which an interview started takes many requests, so these rules come last.
  ...[
    rule(
      'windows.before-inclusive',
      'started_before keeps an interview that started at that very moment',
      async ({ reader, start }) => {
        const { surveyId, at, isIncluded, earlier } = await start()
        if (isIncluded) return PASS
        const { request, total } = await reader.progress(surveyId, [['started_before', formatMoment(at)]])
        if (total !== earlier) throw new Unseen(MOVED)
        const expected = `more than ${earlier} interviews, as with a bound one microsecond later`
        return fail(request, expected, `${earlier}`)
      },
    ),
    rule(
      'windows.after-inclusive',
      'started_after keeps an interview that started at that very moment',
      async ({ reader, start }) => {
        const { surveyId, at, earlier } = await start()
        const all = await countIn(reader, surveyId, [])
        const { request, total } = await reader.progress(surveyId, [['started_after', formatMoment(at)]])
        if (total === all - earlier) return PASS
        const earlierNow = await countIn(reader, surveyId, [['started_before', formatMoment(at - 1n)]])
        if (earlierNow !== earlier || (await countIn(reader, surveyId, [])) !== all) throw new Unseen(MOVED)
        const expected = `${all - earlier} interviews: ${all} in all, ${earlier} of them earlier`
        return fail(request, expected, `${total}`)
      },
    ),
  ].map((windowRule): Rule => ({ ...windowRule, when: 'last' })),
]
