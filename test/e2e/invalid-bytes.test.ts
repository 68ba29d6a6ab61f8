import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bodyOf, scriptedProgress, scriptedSource, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

/** A placeholder in a script for raw bytes in the answer. */
const bytes = (hex: string): string => `<bytes ${hex}>`

/** The answer with raw bytes in place of the placeholders. */
const withBytes = (body: unknown): Buffer =>
  Buffer.concat(
    JSON.stringify(body)
      .split(/<bytes ([\da-f]+)>/)
      .map((part, place) => Buffer.from(part, place % 2 === 0 ? 'utf8' : 'hex')),
  )

const startWithBytes = async (context: Parameters<typeof openTrial>[0]) => {
  const trial = await openTrial(context, [
    // "Café" as Latin-1, an overlong "a" (C1 A1) and half of a euro sign. A real U+FFFD is an ordinary character.
    scriptedSurvey(1, { title: `Caf${bytes('e9')} ${bytes('c1a1')} ${bytes('e282')}.` }, 0),
    scriptedSurvey(2, { title: 'A true \ufffd', project_id: '\ud83d half a pair' }, 0),
    {
      ...scriptedSurvey(3, {}, 0),
      sources: [
        scriptedSource(301, '2026-01-01T00:00:00Z', {
          name: `S${bytes('ff')}`,
          description: bytes('80'),
        }),
      ],
      progress: scriptedProgress(10, { note: `n${bytes('fe')}` }),
    },
  ])
  const { api } = trial
  api.hook = (arrival, response) => {
    const body = bodyOf(api, arrival)
    if (body === null) return false
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      date: api.now.toUTCString(),
    })
    response.end(gzipSync(withBytes(body)))
    return true
  }
  return trial
}

const EVENTS = [
  { resource: 'fieldwork_progress', path: 'note', value: null, kind: 'replaced_text' },
  { resource: 'fieldwork_progress', path: 'note', value: null, kind: 'unknown_field' },
  { resource: 'sample_source', path: 'description', value: null, kind: 'replaced_text' },
  { resource: 'sample_source', path: 'name', value: null, kind: 'replaced_text' },
  { resource: 'survey', path: 'project_id', value: null, kind: 'replaced_text' },
  { resource: 'survey', path: 'title', value: null, kind: 'replaced_text' },
]

test('a sync stores the row with U+FFFD, reports the field everywhere, and continues', async (context) => {
  const { api, sync, runWarm, settings, rows } = await startWithBytes(context)
  const first = await sync()
  expect(first).toMatchObject({
    code: 0,
    run: { status: 'complete', rejected_rows: 0, retries: 0, drift_events: 6, left_over: 0 },
  })
  expect(first.run.drift.map(({ resource, path, value, kind }) => ({ resource, path, value, kind }))).toEqual(
    EVENTS,
  )
  expect(await rows('SELECT id, title, project_id FROM surveys ORDER BY id')).toEqual([
    { id: 1, title: 'Caf\ufffd \ufffd\ufffd \ufffd.', project_id: null },
    { id: 2, title: 'A true \ufffd', project_id: '\ufffd half a pair' },
    { id: 3, title: 'Survey 3', project_id: null },
  ])
  expect(await rows('SELECT name, description FROM sample_sources')).toEqual([
    { name: 'S\ufffd', description: '\ufffd' },
  ])
  expect(await rows('SELECT _extra::VARCHAR AS extra FROM survey_progress WHERE survey_id = 3')).toEqual([
    { extra: '{"note":"n\ufffd"}' },
  ])
  const events = await rows(
    'SELECT resource, path, value, kind FROM _sync.drift_events ORDER BY resource, path, kind',
  )
  expect(events).toEqual(EVENTS)
  const status = await runWarm(['status'])
  expect(status.stdout).toMatch(/survey\.title +\(replaced_text\)/)

  // The same bytes give the same text: no row changes, and the event is reported again.
  api.now = new Date('2026-03-02T00:00:00Z')
  const args = await settings({ contract: 'freeze' })
  const stopped = await sync([...args, '--full'])
  expect(stopped).toMatchObject({
    code: 5,
    run: { left_over: 0, rows_by_table: { surveys: { added: 0, changed: 0 } } },
  })
  expect(stopped.run.drift).toContainEqual(
    expect.objectContaining({ path: 'title', kind: 'replaced_text', is_new: false }),
  )
  // A reason names three of the four differences; the title is the fourth.
  expect(stopped.run.reason).toContain('survey.project_id (characters replaced by U+FFFD)')
})
