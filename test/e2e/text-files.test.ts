/** Files and tokens in the forms that editors and shells write. They are read, or refused with one line. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

test('a sync reads a token file and a settings file that begin with a byte order mark', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const directory = await trial.temporary()
  const tokenFile = join(directory, 'token')
  const config = join(directory, 'settings.yaml')
  await writeFile(tokenFile, `\ufeff${TOKEN}\r\n`)
  await writeFile(config, '\ufeffrefresh: {max_age: 7d}\r\n')
  const tokens: unknown[] = []
  trial.api.hook = (arrival) => {
    tokens.push(arrival.headers['authorization-token'])
    return false
  }
  const { code, stderr } = await trial.runWarm(['sync', '--config', config], {
    FIELDWORK_SYNC_API_TOKEN: undefined,
    FIELDWORK_SYNC_API_TOKEN_FILE: tokenFile,
  })
  expect([code, stderr]).toEqual([0, expect.any(String)])
  expect(new Set(tokens)).toEqual(new Set([TOKEN]))
})

const CANNOT = 'contains a line break, control character or non-ASCII character; a header cannot carry that'

test('a token that a header cannot carry is refused with exit 2 and its place before any request', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const directory = await trial.temporary()
  const [odd, withoutToken] = [`${TOKEN}-\u00e9`, { FIELDWORK_SYNC_API_TOKEN: undefined }]
  const file = async (name: string, content: string | Buffer) => {
    await writeFile(join(directory, name), content)
    return join(directory, name)
  }
  const [ofText, ofUtf16, ofLatin1] = [
    await file('odd', odd),
    await file('utf16', Buffer.from(`\ufeff${TOKEN}`, 'utf16le')),
    await file('latin1', Buffer.from(odd, 'latin1')),
  ]
  const { FIELDWORK_SYNC_BASE_URL: base_url } = trial.api.env
  const settings = await trial.settings({ accounts: [{ name: 'acme', base_url, id: 4711, token: odd }] })
  const ofFile = {
    ...withoutToken,
    FIELDWORK_SYNC_BASE_URL: undefined,
    FIELDWORK_SYNC_API_ID: undefined,
    FIELDWORK_SYNC_RATE_LIMIT: undefined,
  }
  const cases: readonly (readonly [readonly string[], Record<string, string | undefined>, string])[] = [
    [[], { FIELDWORK_SYNC_API_TOKEN: odd }, `FIELDWORK_SYNC_API_TOKEN: ${CANNOT}`],
    [
      [],
      { ...withoutToken, FIELDWORK_SYNC_API_TOKEN_FILE: ofText },
      `FIELDWORK_SYNC_API_TOKEN_FILE: the token file ${ofText} ${CANNOT}`,
    ],
    [
      [],
      { ...withoutToken, FIELDWORK_SYNC_API_TOKEN_FILE: ofUtf16 },
      'FIELDWORK_SYNC_API_TOKEN_FILE: the token file that it names is not UTF-8 text; is it the right file?',
    ],
    [
      [],
      { ...withoutToken, FIELDWORK_SYNC_API_TOKEN_FILE: ofLatin1 },
      'FIELDWORK_SYNC_API_TOKEN_FILE: the token file that it names is not UTF-8 text; is it the right file?',
    ],
    [settings, ofFile, `settings.yaml:1: accounts[0].token ${CANNOT}`],
  ]
  for (const [args, env, line] of cases) {
    const { code, stderr, stdout } = await trial.runWarm(['sync', ...args], env)
    expect(code).toBe(2)
    expect(stderr.split('\n').filter((one) => one.includes(line))).toHaveLength(1)
    expect(`${stdout}${stderr}`).not.toContain(TOKEN)
  }
  expect(trial.api.arrivals).toEqual([])
})
