/** The reasons of Today: a name in a sentence keeps its own direction, and a survey that the plan keeps quiet is named with its day. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { expect, test } from 'vitest'
import { createFormats } from '../../../../../src/publish/report/formats.js'
import { Today } from '../../../../../src/publish/report/page/today.js'
import { instantOf } from '../../../../support/time/instants.js'

const NAME = 'פאנל צפון'

const SUPPLIER = 'ספק צפון'

const reason = (
  survey_id: number,
  text: string,
  source_name: string | null,
  supplier: string | null = null,
) => ({
  ...{ account: 'default', survey_id, title: `Survey ${survey_id}`, project_id: null },
  ...{ interviews_count: 5, sample_size: 10, completion_rate: 0.5 },
  ...{ kind: 'source_rejects', urgency: 2, text, source_name, supplier, since: null },
})

const pageOf = (needsAction: readonly object[], quiet: readonly object[] = []) => ({
  rows: {
    asOf: [{ account: 'default', newest_at: instantOf('2026-03-20T02:00:00Z'), surveys: 1 }],
    needsAction,
    quiet: new Map(quiet.map((row, place) => [`default/${place + 1}`, row])),
    surveys: [],
    sources: new Map(),
  } as never,
  formats: createFormats({ locale: 'en-GB', time_zone: 'UTC' }),
  sections: new Set<string>(),
  surveyUrl: null,
})

/** The chips, with the tags in them. */
const chips = (page: ReturnType<typeof pageOf>): readonly string[] =>
  [...renderToString(h(Today, { page })).matchAll(/<span class="chip[^>]*>(.*?)<\/span>/g)].map(
    ([, chip = '']) => chip,
  )

test('the name of a source and its supplier in a reason have their own directions', () => {
  const long = `${NAME} `.repeat(20).trim()
  expect(
    chips(
      pageOf([
        reason(1, `18% rejected at "${NAME}", 4% elsewhere`, NAME),
        reason(1, `18% rejected at "${NAME}" (${SUPPLIER}), 4% elsewhere`, NAME, SUPPLIER),
        reason(1, '18% rejected at "8" (1), 4% elsewhere', '8', '1'),
        reason(1, 'paused for 2 days', null),
        reason(1, '1 source trails its survey, by 9 interviews', NAME, SUPPLIER),
        reason(1, `18% rejected at "${long}", 4% elsewhere`, long),
        reason(1, `18% rejected at "${long}" (${long}), 4% elsewhere`, long, long),
      ]),
    ),
  ).toEqual([
    `18% rejected at &quot;<bdi>${NAME}</bdi>&quot;, 4% elsewhere`,
    `18% rejected at &quot;<bdi>${NAME}</bdi>&quot; (<bdi>${SUPPLIER}</bdi>), 4% elsewhere`,
    '18% rejected at &quot;<bdi>8</bdi>&quot; (<bdi>1</bdi>), 4% elsewhere',
    'paused for 2 days',
    '1 source trails its survey, by 9 interviews',
    // The name and the supplier are cut, and the sentence is not.
    expect.stringMatching(/^18% rejected at &quot;<bdi>[^<]*…[^<]*<\/bdi>&quot;, 4% elsewhere$/),
    expect.stringMatching(
      /^18% rejected at &quot;<bdi>[^<]*…[^<]*<\/bdi>&quot; \(<bdi>[^<]*…[^<]*<\/bdi>\), 4% elsewhere$/,
    ),
  ])
})

test('surveys that the plan keeps quiet stand below the list, and in their row', () => {
  const until = (quiet_until: string) => ({ account: 'default', survey_id: 1, title: 'One', quiet_until })
  const html = renderToString(
    h(Today, { page: pageOf([reason(1, 'was due 1 March', null)], [until('2026-12-03')]) }),
  )
  const words = html
    .replaceAll(/<pre.*?<\/pre>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
  expect(words).toContain('was due 1 March quiet until 3 Dec 2026')
  expect(words).toContain(
    '1 survey is quiet by the plan, and would be here only if late: One until 3 Dec 2026',
  )
  expect(renderToString(h(Today, { page: pageOf([]) }))).not.toContain('quiet by the plan')
})
