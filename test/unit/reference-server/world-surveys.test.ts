import { beforeAll, describe, expect, test } from 'vitest'
import { micros, startApi } from './support/api.js'

/** UTC offsets in use by some country or territory, winter and summer; `-00:00` is valid in RFC 3339, not in ISO 8601. */
const OFFSETS_IN_USE = `Z +00:00
  -12:00 -11:00 -10:00 -09:30 -09:00 -08:00 -07:00 -06:00 -05:00 -04:00 -03:30 -03:00 -02:30 -02:00 -01:00
  +01:00 +02:00 +03:00 +03:30 +04:00 +04:30 +05:00 +05:30 +05:45 +06:00 +06:30 +07:00 +08:00 +08:45 +09:00
  +09:30 +10:00 +10:30 +11:00 +12:00 +12:45 +13:00 +13:45 +14:00`.split(/\s+/)

let titles: readonly string[]

beforeAll(async () => {
  await using api = await startApi({ surveys: 1000, pageSize: 1000, accounts: 2 })
  const accounts = await Promise.all([0, 1].map((account) => api.readSurveys('', account)))
  titles = accounts.flatMap(({ surveys }) => surveys.map(({ title }) => title))
})

describe('API document, "Survey": what its texts may contain', () => {
  test('titles are in many scripts, and each arrives as it was written', () => {
    const scripts =
      `Latin Cyrillic Greek Han Hiragana Katakana Hangul Arabic Hebrew Devanagari Thai Georgian Ethiopic
      Armenian Tamil`.split(/\s+/)
    const missing = scripts.filter(
      (script) => !titles.some((title) => new RegExp(`\\p{Script=${script}}`, 'u').test(title)),
    )
    expect(missing).toEqual([])
    expect(titles.some((title) => /[\r\n\0]/.test(title))).toBe(false)
    expect(titles.some((title) => /\p{Surrogate}/u.test(title))).toBe(false)
  })

  test.each<[string, (title: string) => boolean]>([
    ['combining marks', (title) => title !== title.normalize('NFC')],
    ['composed letters', (title) => title !== title.normalize('NFD') && /[ảườ]/.test(title)],
    [
      'left-to-right text within right-to-left',
      (title) => /\p{Script=Arabic}.*[A-Za-z]{2}.*\p{Script=Arabic}/u.test(title),
    ],
    ['marks of direction', (title) => /[\u200e\u200f\u2066\u2069]/.test(title)],
    [
      'emoji with joiners',
      (title) => /\p{Extended_Pictographic}.?\u200d\p{Extended_Pictographic}/u.test(title),
    ],
    ['emoji with a skin tone', (title) => /\p{Emoji_Modifier}/u.test(title)],
    ['a joiner between letters', (title) => /\p{Script=Devanagari}\u200d/u.test(title)],
    ['no-break and zero-width spaces', (title) => /\u00a0/.test(title) || /\u200b/.test(title)],
    ['letters beyond the first plane', (title) => /[\u{20000}-\u{2ffff}]/u.test(title)],
    ['some hundred characters', (title) => title.length > 400],
    ['quotes and backslashes', (title) => /["'\\]/.test(title)],
  ])('a title may hold %s', (_what, holds) => {
    expect(titles.some(holds)).toBe(true)
  })

  test('a title may look like a number, a date, a formula or nothing, and is a string', () => {
    const asCreated = titles.map((title) => title.replace(/ \(v\d\)$/, ''))
    for (const title of ['', '0', '007', '1e5', 'null', 'true', '=1+1', '2026-03-01', ' spaces around ']) {
      expect(asCreated).toContain(title)
    }
  })
})

describe('API document, "Resources and their fields": ISO 8601 with an offset', () => {
  test('all offsets in use occur, from -12:00 to +14:00, with half and quarter hours, and no others', async () => {
    await using api = await startApi({ surveys: 1000, pageSize: 1000 })
    const { surveys } = await api.readSurveys()
    const texts = surveys.flatMap(({ created_at, updated_at }) => [created_at, updated_at])
    const offsets = new Set(texts.map((text) => text.replace(/^.{19}(\.\d+)?/, '')))
    expect([...offsets].toSorted()).toEqual(OFFSETS_IN_USE.toSorted())
    const { created_at, id } = surveys.find((survey) => survey.created_at.endsWith('+05:45'))!
    const found = await api.readSurveys(`?updated_since=${encodeURIComponent(created_at)}`)
    expect(found.surveys.map((survey) => survey.id)).toContain(id)
    expect(micros(created_at)).toBeLessThanOrEqual(micros('2026-03-01T00:00:00Z'))
  })

  test('moments have 0, 3 or 6 digits after the second', async () => {
    await using api = await startApi({ surveys: 200, pageSize: 1000 })
    const { surveys } = await api.readSurveys()
    const digits = surveys.map(({ created_at }) => /\.(\d+)/.exec(created_at)?.[1]?.length ?? 0)
    expect([...new Set(digits)].toSorted()).toEqual([0, 3, 6])
  })
})

describe('API document, "Resources and their fields": what a client has to handle', () => {
  test('updated_at is never before created_at; project_id may be null or look like a number', async () => {
    await using api = await startApi({ surveys: 200, pageSize: 1000 })
    const surveys = (await api.readTruth()).accounts[0]!.surveys
    const sources = surveys.flatMap(({ sample_sources }) => sample_sources)
    expect(sources.every(({ country_code }) => /^[A-Z]{2}$/.test(country_code))).toBe(true)
    expect(surveys.every((one) => one.respondent_iterations_count >= one.respondent_questions_count)).toBe(
      true,
    )
    expect(surveys.every((survey) => micros(survey.updated_at) >= micros(survey.created_at))).toBe(true)
    expect(surveys.some(({ project_id }) => project_id === null)).toBe(true)
    expect(surveys.some(({ project_id }) => project_id?.match(/^0\d+$/))).toBe(true)
  })

  test('ids are below, around and far beyond 2^31, and never beyond 2^53', async () => {
    await using api = await startApi({ surveys: 50, accounts: 3, pageSize: 100 })
    const ids = await Promise.all(
      [0, 1, 2].map(async (account) => (await api.readSurveys('', account)).surveys.map(({ id }) => id)),
    )
    const limit = 2 ** 31
    expect(ids[0]!.some((id) => id < limit) && ids[0]!.some((id) => id > limit)).toBe(true)
    expect(ids[1]!.every((id) => id < limit)).toBe(true)
    expect(ids[2]!.every((id) => id > 2 ** 40 && Number.isSafeInteger(id))).toBe(true)
  })
})
