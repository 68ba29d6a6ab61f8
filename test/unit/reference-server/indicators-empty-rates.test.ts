import { describe, expect, test } from 'vitest'
import type { EmptyRates } from '../../../src/reference-server/option-texts.js'
import { startApi } from './support/api.js'

const RATES = [
  'completion_rate',
  'questionnaire_incidence_rate',
  'target_incidence_rate',
  'incidence_rate',
  'drop_out_rate',
  'length_of_interview',
] as const
const COUNTS = ['sample_size', 'interviews_count', 'interview_count_by_status'] as const

interface RawSurvey {
  readonly id: number
  readonly status: string
  readonly sample_sources: readonly unknown[]
  readonly fieldwork_progress: Readonly<Record<string, unknown>>
}

/** Progress as it is sent under a setting: of a survey without sources, of one with interviews, and in the truth. */
const readRaw = async (emptyRates: EmptyRates) => {
  await using api = await startApi({ surveys: 30, pageSize: 100, emptyRates })
  const answer = (await api.control('/truth')).json as { accounts: [{ surveys: RawSurvey[] }] }
  const { surveys } = answer.accounts[0]
  const ask = async (id: number) => {
    const { json } = await api.ask(`/surveys/${id}/fieldwork_progress`)
    return (json as Pick<RawSurvey, 'fieldwork_progress'>).fieldwork_progress
  }
  const isBare = ({ fieldwork_progress: { sample_size, drop_out_rate, interviews_count } }: RawSurvey) =>
    sample_size === 0 && interviews_count === 0 && (drop_out_rate ?? 0) === 0
  const bare = surveys.find(isBare)!
  const busy = surveys.find(({ fieldwork_progress }) => Number(fieldwork_progress.interviews_count) > 100)!
  return { surveys, bare, busy, askedBare: await ask(bare.id), askedBusy: await ask(busy.id) }
}

describe('API document, "Fieldwork progress": a rate over zero interviews, which it leaves open', () => {
  test.each<[EmptyRates, null | 0]>([
    ['null', null],
    ['zero', 0],
  ])('--empty-rates %s: each is %s, in the truth as in the answer', async (emptyRates, shown) => {
    const { bare, busy, askedBare, askedBusy } = await readRaw(emptyRates)
    expect(Object.keys(askedBare)).toEqual([...COUNTS, ...RATES])
    for (const rate of RATES) expect(askedBare[rate]).toBe(shown)
    expect(bare.fieldwork_progress).toEqual(askedBare)
    expect(busy.fieldwork_progress).toEqual(askedBusy)
  })

  test('--empty-rates omit: each is left out, the others stay, in the truth as in the answer', async () => {
    const { surveys, bare, busy, askedBare, askedBusy } = await readRaw('omit')
    expect(Object.keys(askedBare)).toEqual([...COUNTS])
    expect(bare.fieldwork_progress).toEqual(askedBare)
    expect(Object.keys(askedBusy)).toEqual([...COUNTS, ...RATES])
    expect(busy.fieldwork_progress).toEqual(askedBusy)
    expect(surveys.flatMap(({ fieldwork_progress }) => Object.values(fieldwork_progress))).not.toContain(null)
  })

  test('a target without interviews has a completion_rate of 0 and no other rate', async () => {
    const { surveys } = await readRaw('null')
    const draft = surveys.find(
      ({ status, fieldwork_progress }) => status === 'draft' && Number(fieldwork_progress.sample_size) > 0,
    )!
    const { completion_rate, ...others } = Object.fromEntries(
      RATES.map((rate) => [rate, draft.fieldwork_progress[rate]]),
    )
    expect(completion_rate).toBe(0)
    expect(new Set(Object.values(others))).toEqual(new Set([null]))
  })
})
