/**
 * Replay after an upgrade. A build with one changed line in its decoder replays the rows that the previous build
 * quarantined. Faults of the reference server make these rows.
 */
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ReferenceServer } from '../../src/reference-server/server.js'
import { openWarehouse } from '../../src/warehouse/lifecycle/open.js'
import { accountsOf, asObject, asObjects, type JsonObject, startWorld } from '../support/api/reference-api.js'
import { run, start } from '../support/command/command.js'
import { buildMutant } from '../support/command/mutant.js'
import { publishedFile, sync, withSettings } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { testLog } from '../support/log/test-log.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { openWorld } from '../support/oracle/truth.js'
import { slow } from '../support/suite/slow.js'
import { testClock } from '../support/time/test-clock.js'
import { openReader, query } from '../support/warehouse/duckdb.js'

/** A build that accepts integers written as text. */
const upgrade = () =>
  buildMutant({
    file: 'survey-api/response-schemas.js',
    from: "export const integer = z.int('expected an integer of at most 2^53 - 1').overwrite((value) => value + 0);",
    to: 'export const integer = z.union([z.int(), z.string().regex(/^[0-9]{1,15}$/).transform(Number)]);',
  })

const surveysOf = async (server: ReferenceServer): Promise<readonly JsonObject[]> => {
  const response = await fetch(`${server.origin}/_reference/truth`)
  const [account] = asObjects(asObject(await response.json()).accounts)
  return asObjects(account?.surveys)
}

const putFaults = async (server: ReferenceServer, faults: readonly object[]) => {
  const response = await fetch(`${server.origin}/_reference/faults`, {
    method: 'PUT',
    body: JSON.stringify(faults),
  })
  expect(response.status).toBe(200)
}

slow(
  'replay after an upgrade merges and publishes rows without a request, and the next sync continues from them',
  async () => {
    const warehouse = await temporaryDirectory()
    await using server = await startWorld({ seed: 3, surveys: 8 })
    const world = openWorld(server)
    const args = await withSettings({
      ...accountsOf(server),
    })
    expect(await sync({ warehouse, env: {}, args })).toMatchObject({ code: 0 })

    await world.advance('PT6H')
    const surveys = await surveysOf(server)
    const settled = surveys.find(({ status }) => status === 'complete')
    const active = surveys.find(({ status }) => status === 'fieldwork')
    const { sample_sources: _sources, fieldwork_progress: _progress, ...fields } = settled ?? {}
    const { sample_source_progress: _each, ...survey } = fields
    await putFaults(server, [
      {
        match: { path: '/surveys' },
        times: 1,
        action: {
          patch: {
            surveys: [
              {
                ...survey,
                title: 'Renamed',
                updated_at: '2026-03-01T05:00:00Z',
                respondent_questions_count: '12',
              },
            ],
            pagination: { total_pages: 1, total_count: 1 },
          },
        },
      },
      {
        // The progress is read for the survey, and once more with its sources, because an unknown target requires that.
        match: { path: `/surveys/${active?.id}/fieldwork_progress` },
        times: 2,
        action: { patch: { fieldwork_progress: { interviews_count: '9', length_of_interview: 'long' } } },
      },
      {
        match: { path: `/surveys/${active?.id}/fieldwork_progress` },
        after: 2,
        times: 1,
        action: { patch: { fieldwork_progress: { interviews_count: '9' } } },
      },
    ])
    const rejecting = await sync({ warehouse, env: {}, args })
    expect(rejecting).toMatchObject({ code: 5, run: { rejected_rows: 3, surveys_failed: 0, left_over: 0 } })
    await putFaults(server, [])
    await world.forgetRequests()

    const env = { FIELDWORK_SYNC_WAREHOUSE: warehouse }
    const beforeUpgrade = await run(['replay'], env)
    expect(beforeUpgrade.code).toBe(5)
    expect(beforeUpgrade.stdout).toMatch(/^waiting +3 rows, kept in _sync\.rejected_rows$/m)
    expect(beforeUpgrade.stdout.trimEnd().split('\n').at(-1)).toBe(
      'failed (exit 5): 3 rows still cannot be typed (_sync.rejected_rows); 0 rows replayed, 3 waiting.',
    )

    const upgraded = await upgrade()
    const replayed = await start(['replay', '--json'], env, upgraded).ended
    expect(replayed).toMatchObject({ code: 5 })
    expect(JSON.parse(replayed.stdout)).toMatchObject({
      status: 'failed',
      accounts: [
        {
          command: 'replay',
          requests: 0,
          left_over: 2,
          replayed: { merged: 1, queued: 1, outdated: 0, waiting: 1 },
          rejections: [{ endpoint: 'fieldwork_progress', rows: 1 }],
        },
      ],
      published: [{ format: 'duckdb', path: publishedFile(warehouse) }],
    })
    expect(await world.requests()).toEqual([])
    {
      using reader = await openReader(publishedFile(warehouse))
      // The stored sources and progress belong to the old row, so the new row waits for its bundle.
      const where = `WHERE id = ${settled?.id}`
      expect(await reader.query(`SELECT title FROM surveys ${where}`)).toEqual([{ title: settled?.title }])
      expect(
        await reader.query(
          `SELECT title, respondent_questions_count AS questions FROM _sync.pending_surveys`,
        ),
      ).toEqual([{ title: 'Renamed', questions: 12 }])
      expect(
        await reader.query(
          `SELECT replay_result, count(*) AS rows, count(replayed_at) AS replayed FROM _sync.rejected_rows GROUP BY ALL ORDER BY 1`,
        ),
      ).toEqual([
        { replay_result: 'merged', rows: 1, replayed: 1 },
        { replay_result: 'queued', rows: 1, replayed: 1 },
        { replay_result: null, rows: 1, replayed: 0 },
      ])
      expect(await reader.query('SELECT command, status FROM _sync.runs ORDER BY started_at')).toEqual([
        { command: 'sync', status: 'complete' },
        { command: 'sync', status: 'failed' },
        { command: 'replay', status: 'failed' },
        { command: 'replay', status: 'failed' },
      ])
    }
    const status = await run(['status', '--json'], env)
    expect(JSON.parse(status.stdout).rejections).toEqual(
      expect.arrayContaining([expect.objectContaining({ endpoint: 'surveys', rows: 1, replayed: 1 })]),
    )

    expect(await sync({ warehouse, env: {}, args, main: upgraded })).toMatchObject({ code: 0 })
    expect(
      await query(
        publishedFile(warehouse),
        `SELECT title, respondent_questions_count AS questions FROM surveys WHERE id = ${settled?.id}`,
      ),
    ).toEqual([{ title: 'Renamed', questions: 12 }])
    expect(await unsoundness(publishedFile(warehouse))).toEqual([])

    {
      await using _held = await openWarehouse({
        directory: warehouse,
        clock: testClock(),
        log: testLog(),
        command: 'somebody else',
      })
      const second = await run(['replay'], env)
      expect(second).toMatchObject({ code: 6, stdout: '' })
      expect(second.stderr).toContain('is held by "somebody else"')
    }
    const noWarehouse = await run(['replay', '--warehouse', join(warehouse, 'slip')])
    expect(noWarehouse).toMatchObject({ code: 2, stdout: '' })
    expect(noWarehouse.stderr).toContain(
      `there is no warehouse in ${join(warehouse, 'slip')}: nothing to replay`,
    )
  },
)
