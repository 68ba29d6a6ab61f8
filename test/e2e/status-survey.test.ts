/** `status --survey` names the cause of old data: each of the nine is made by real nights against the reference server. */
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ReferenceServer } from '../../src/reference-server/server.js'
import { startWorld } from '../support/api/reference-api.js'
import { publishedFile } from '../support/command/sync.js'
import { runWarm } from '../support/command/warm.js'
import { atEndOfFile, temporaryDirectory } from '../support/files/temporary.js'
import { unlimitedEnv } from '../support/oracle/rate.js'
import { openWorld } from '../support/oracle/truth.js'
import { query } from '../support/warehouse/duckdb.js'

let server: ReferenceServer
let warehouse = ''
const states = { faults: '', budget: '', refused: '' }

const sync = async (...flags: readonly string[]): Promise<number | null> =>
  (await runWarm(['sync', ...flags], unlimitedEnv(server, warehouse))).code

const putFaults = async (faults: readonly object[]): Promise<void> => {
  const answer = await fetch(`${server.origin}/_reference/faults`, {
    method: 'PUT',
    body: JSON.stringify(faults),
  })
  expect(answer.status, await answer.text()).toBe(200)
}

/** Keeps what is published now. */
const keep = async (name: keyof typeof states): Promise<void> => {
  states[name] = join(await temporaryDirectory(atEndOfFile), 'warehouse')
  await mkdir(states[name])
  await cp(publishedFile(warehouse), publishedFile(states[name]))
}

/** The id of the first survey that `condition` selects. The tables have the names of the page's former query. */
const idWhere = async (state: string, condition: string): Promise<number> => {
  const rows = await query(
    publishedFile(state),
    `SELECT o.id FROM survey_overview o JOIN freshness f ON f.account = o.account AND f.survey_id = o.id
      LEFT JOIN survey_progress p ON p.account = o.account AND p.survey_id = o.id
      LEFT JOIN _sync.tasks t ON t.account = o.account AND t.survey_id = o.id
      WHERE ${condition} ORDER BY o.id LIMIT 1`,
  )
  expect(rows, condition).toHaveLength(1)
  return Number(rows[0]?.id)
}

const ACTIVE = "o.status IN ('fieldwork', 'pending', 'deviating_from_specs') AND o._missing_since IS NULL"

beforeAll(async () => {
  server = await startWorld({ seed: 3, surveys: 24 })
  atEndOfFile(() => server.close())
  warehouse = join(await temporaryDirectory(atEndOfFile), 'warehouse')
  const world = openWorld(server)
  expect(await sync()).toBe(0)
  const [rejected, refused, forgotten] = await query(
    publishedFile(warehouse),
    "SELECT id FROM surveys WHERE status = 'fieldwork' ORDER BY id",
  )
  await world.advance('P1D')
  await putFaults([
    {
      match: { path: `/surveys/${rejected?.id}/fieldwork_progress` },
      times: 'always',
      action: { patch: { fieldwork_progress: { sample_size: 'many' } } },
    },
    { match: { path: `/surveys/${refused?.id}/*` }, times: 'always', action: { status: 404 } },
    { action: { forget: forgotten?.id } },
  ])
  expect(await sync('--full')).toBe(5)
  await keep('faults')
  await world.advance('P1D')
  await putFaults([])
  expect(await sync('--max-requests', '8')).toBe(3)
  await keep('budget')
  await world.advance('P1D')
  await putFaults([{ match: { path: '/surveys' }, times: 'always', action: { status: 401 } }])
  expect(await sync()).toBe(4)
  await keep('refused')
})

describe('the cause is', () => {
  test.each<[string, keyof typeof states, string, RegExp, ...string[]]>([
    [
      'that no run was published since',
      'refused',
      ACTIVE,
      /the last sync that is published ended .* ago: no run took place/,
      '--max-age',
      '0s',
    ],
    [
      'that the API no longer shows it',
      'faults',
      'o._missing_since IS NOT NULL',
      /the API does not show it since 2026-03-02T00:00Z \(.* ago\)/,
    ],
    [
      'that its last reading failed',
      'faults',
      'o.last_error IS NOT NULL',
      /its last reading failed \(tried 1 time\): .*\/sample_sources\?page=1 \(404\)/,
    ],
    [
      'that its progress could not be typed',
      'faults',
      `o.id = (SELECT min(survey_id) FROM _sync.rejected_rows WHERE endpoint = 'fieldwork_progress')`,
      /its last progress could not be typed and is in quarantine: sample_size: expected an integer .*, got "many"/,
    ],
    [
      'that a budget ended the last run before it',
      'budget',
      `t.enqueued_at IS NOT NULL AND o.last_error IS NULL AND ${ACTIVE}`,
      /it waits in the queue since 2026-03-0\dT00:00Z \(.* ago\): the last run ended before it read the survey: stopped by --max-requests 8/,
    ],
    [
      'that the last run ended before it queued the survey',
      'refused',
      `t.enqueued_at IS NULL AND ${ACTIVE}`,
      /the last run ended before it queued the survey: the API refused the credentials \(401\)/,
    ],
    [
      'that an inactive survey was not due',
      'faults',
      "o.status IN ('draft', 'complete') AND o.refreshed_at < '2026-03-02'",
      /it was not due: an inactive survey is read 1, 2, 4, 8 … days after its last change/,
    ],
    [
      'that its progress has not changed',
      'faults',
      `p._observed_at < o.refreshed_at AND o.last_error IS NULL AND o._missing_since IS NULL
        AND o.id NOT IN (SELECT survey_id FROM _sync.rejected_rows)`,
      /its progress is unchanged since 2026-03-01T00:00Z \(24 h ago\)/,
    ],
    [
      'that its sources were skipped',
      'faults',
      'f.source_progress_read_at < o.refreshed_at AND o.sample_sources_count > 0 AND o.last_error IS NULL',
      /the progress of all its sources was last read 2026-03-01T00:00Z \(24 h ago\); since then neither their list nor the progress of the survey has changed/,
    ],
  ])('%s', async (_name, state, condition, words, ...flags) => {
    const id = String(await idWhere(states[state], condition))
    const { code, stdout, stderr } = await runWarm(['status', '--survey', id, ...flags], {
      FIELDWORK_SYNC_WAREHOUSE: states[state],
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(words)
  })
})
