/** When failures of single surveys end the run, as a table. */
import { describe, expect, test } from 'vitest'
import type { UpstreamError } from '../../../src/base/errors.js'
import { type RefusalKind, RefusedReadingError } from '../../../src/model/survey-source.js'
import { FailureWatch } from '../../../src/sync/failure-watch.js'

const refused = (...kinds: readonly RefusalKind[]): readonly RefusedReadingError[] =>
  kinds.map((kind) => new RefusedReadingError(kind, `answered ${kind}`))

const down = (): UpstreamError => refused('rejected')[0] ?? new RefusedReadingError('rejected', 'down')

interface Step {
  /** How many answers of the survey were read; null when none was. */
  readonly answers: number | null
  readonly kinds?: readonly RefusalKind[]
  readonly isKnown?: boolean
  readonly times?: number
}

const GONE: Step = { answers: null, kinds: ['not_found', 'not_found'] }
const FORBIDDEN: Step = { answers: null, kinds: ['forbidden', 'forbidden'] }
const READ: Step = { answers: 3 }

const watched = (steps: readonly Step[], max = 3) => {
  const watch = new FailureWatch(max)
  for (const { answers, kinds = [], isKnown = false, times = 1 } of steps) {
    for (let time = 0; time < times; time += 1) {
      if (answers === null) watch.failed(refused(...kinds)[0] ?? down(), refused(...kinds), isKnown)
      else watch.read(answers, refused(...kinds))
    }
  }
  return watch
}

describe('the run goes on', () => {
  test.each<[string, readonly Step[]]>([
    ['when one survey is refused', [READ, GONE, READ]],
    ['when fewer than three fail in a row', [{ ...GONE, times: 2 }, READ, { ...GONE, times: 2 }, READ, READ]],
    ['when surveys fail that were refused before', [{ ...FORBIDDEN, isKnown: true, times: 9 }, READ]],
    ['when many surveys have sources and no progress', [{ answers: 1, kinds: ['not_found'], times: 50 }]],
  ])('%s', (_, steps) => {
    expect(watched(steps).verdict()).toBeNull()
    expect(watched(steps).lastVerdict()).toBeNull()
  })
})

describe('the run ends', () => {
  test.each<[string, string, readonly Step[]]>([
    ['as a wrong address after too many not found in a row', 'wrong_address', [READ, { ...GONE, times: 3 }]],
    ['as forbidden after too many in a row', 'surveys_forbidden', [READ, { ...FORBIDDEN, times: 3 }]],
    ['as too many failures when the refusals differ', 'too_many_failures', [FORBIDDEN, GONE, FORBIDDEN]],
    ['as too many failures when none is a refusal', 'too_many_failures', [{ answers: null, times: 3 }]],
    [
      'as a wrong address when more requests are not found than answered',
      'wrong_address',
      [{ answers: 1 }, GONE, { answers: 1 }, GONE],
    ],
  ])('%s', (_, code, steps) => {
    expect(watched(steps).verdict()).toMatchObject({ code, endsRun: true, exitCode: 4 })
  })

  test.each<[string, string, readonly Step[]]>([
    ['when both surveys are forbidden', 'surveys_forbidden', [{ ...FORBIDDEN, times: 2 }]],
    ['when both were forbidden before', 'surveys_forbidden', [{ ...FORBIDDEN, isKnown: true, times: 2 }]],
    ['when neither of two is found', 'wrong_address', [{ ...GONE, isKnown: true, times: 2 }]],
  ])('at the end of the queue %s', (_, code, steps) => {
    expect(watched(steps).verdict()).toBeNull()
    expect(watched(steps).lastVerdict()).toMatchObject({ code, exitCode: 4 })
  })

  test('but not because of a single refused survey', () => {
    expect(watched([FORBIDDEN]).lastVerdict()).toBeNull()
  })
})
