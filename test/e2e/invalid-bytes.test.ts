import { expect, test } from 'vitest'
import { bodyOf, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

test('a sync stores bytes that are not UTF-8 as U+FFFD and reports the field, and a true U+FFFD is an ordinary character', async (context) => {
  const { api, sync, settings, rows } = await openTrial(context, [
    scriptedSurvey(1, { title: 'Caf<bytes>.' }, 0),
    scriptedSurvey(2, { title: 'A true \ufffd' }, 0),
  ])
  api.hook = (arrival, response) => {
    const text = JSON.stringify(bodyOf(api, arrival))
    response.writeHead(200, { 'content-type': 'application/json', date: api.now.toUTCString() })
    // "Café" as Latin-1, and half of a euro sign.
    const [before = '', after] = text.split('<bytes>')
    response.end(Buffer.concat([Buffer.from(before), ...(after === undefined ? [] : rest(after))]))
    return true
  }
  const ended = await sync(await settings({ contract: 'freeze' }))
  expect(ended).toMatchObject({
    code: 5,
    run: { rejected_rows: 0, retries: 0, drift_events: 1, left_over: 0 },
  })
  expect(ended.run.reason).toContain('survey.title (characters replaced by U+FFFD)')
  expect(await rows('SELECT title FROM surveys ORDER BY id')).toEqual([
    { title: 'Caf\ufffd \ufffd.' },
    { title: 'A true \ufffd' },
  ])
  expect(await rows('SELECT resource, path, value, kind FROM _sync.drift_events')).toEqual([
    { resource: 'survey', path: 'title', value: null, kind: 'replaced_text' },
  ])
})

const rest = (after: string): Buffer[] => [Buffer.from('e920e282', 'hex'), Buffer.from(after)]
