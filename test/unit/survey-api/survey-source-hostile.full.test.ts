/**
 * Any JSON in any place of an answer gives either its rows in order, each typed or in quarantine, or one clear error.
 * The answers come from an implementation of the client's interface. `test/unit/http` tests what HTTP can do to them.
 */
import { expect, test } from 'vitest'
import { survey } from './example-rows.js'
import { context, list, listOf, names, sourceOf } from './survey-source-hostile-shared.js'

test('an answer with millions of bad rows or unknown names costs an error, not a table of them', async () => {
  const rows = (count: number) => Array<string>(count).fill('1').join(',')
  await expect(list(listOf(rows(10_001), 10_001))).rejects.toMatchObject({
    code: 'unusable_answer',
    message: expect.stringContaining('GET /surveys (page 1) cannot be used: it has more than 10,000 rows'),
  })
  expect((await list(listOf(rows(10_000), 10_000))).rejections).toHaveLength(10_000)
  const tooMany = {
    code: 'unusable_answer',
    message: expect.stringContaining('more than 100,000 differences from the API document'),
  }
  await expect(list(listOf('', 0, `,${names(100_001)}`))).rejects.toMatchObject(tooMany)
  const inPagination = listOf('', 0).replace('"total_pages"', `${names(100_001)},"total_pages"`)
  await expect(list(inPagination)).rejects.toMatchObject(tooMany)
  const progress = (text: string) =>
    sourceOf(text).readProgress({ surveyId: 1, sampleSourceId: null }, context)
  await expect(progress(`{"fieldwork_progress":{},${names(100_001)}}`)).rejects.toMatchObject(tooMany)
})

test('rows whose differences add up to too many make their answer unusable', async () => {
  const row = (id: number) =>
    JSON.stringify(survey)
      .replace(/"id":\d+/, `"id":${id}`)
      .replace(/\}$/, `,${names(9_000)}}`)
  const rows = Array.from({ length: 12 }, (_, at) => row(at + 1))
  await expect(list(listOf(rows.join(','), 12))).rejects.toMatchObject({
    message: expect.stringContaining('more than 100,000 differences'),
  })
  expect((await list(listOf(rows.slice(0, 11).join(','), 11))).drift).toHaveLength(99_000)
})
