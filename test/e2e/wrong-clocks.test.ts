/** When our clock is wrong for one night, later nights do not rely on its times. */
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

const aheadBy = (wallMs: number) => ({
  NODE_OPTIONS: `--import ${new URL('fixtures/shifted-clocks.mjs', import.meta.url).href}`,
  SHIFT_CLOCKS: JSON.stringify({ wallMs, monotonicMs: 0, atStart: true }),
})

test.concurrent('a night whose clock was 20 hours ahead is late in time', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const checkIn = async (hours: number) => {
    const { code, stdout } = await trial.run(['status', '--check'], aheadBy(hours * 3_600_000))
    return [code, stdout]
  }
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await trial.run(['sync'], aheadBy(20 * 3_600_000))).toMatchObject({ code: 0, signal: null })
  expect(await checkIn(1)).toEqual([0, expect.stringMatching(/^OK: .* 1 h ago\n$/)])
  expect(await checkIn(30)).toEqual([3, 'LATE: the last complete run ended 30 h ago\n'])
})
