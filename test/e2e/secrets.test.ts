/**
 * The token never appears in output or files, even at debug level, with any answer of a server and any place in the settings.
 * Files are searched byte by byte, and tables value by value because DuckDB compresses its files.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ALL_TABLES } from '../../src/model/sync-tables.js'
import {
  NO_ACCOUNT,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  sendJson,
  TOKEN,
} from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { some } from '../support/suite/cases.js'
import { openReader } from '../support/warehouse/duckdb.js'

/** A token with characters that are escaped in JSON and in URLs. */
const ODD_TOKEN = 'tok/7f3a+"secret"=&\\end'

const forms = (token: string): string[] => [
  token,
  JSON.stringify(token).slice(1, -1),
  JSON.stringify(token).slice(1, -1).replaceAll('/', '\\/'),
  encodeURIComponent(token),
  ...encodings(token),
  // What remains of the token where its neighbours are not known.
  ...inBase64(token).map((text) => text.slice(4, -4)),
]

const encodings = (token: string): string[] => [
  encodeURIComponent(token).replaceAll(/%../g, (code) => code.toLowerCase()),
  new URLSearchParams({ token }).toString().slice('token='.length),
  token.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
  Buffer.from(token).toString('hex'),
  ...inBase64(token),
]

/** At each of the three places where it may begin. */
const inBase64 = (token: string): string[] =>
  [token, `1:${token}`, `12:${token}`].map((text) => Buffer.from(text).toString('base64'))

/** The places that contain the token. */
const leaks = async (trial: Trial, ended: Ended, token: string): Promise<string[]> => {
  const found: string[] = []
  const search = (where: string, content: string | Buffer) => {
    for (const form of forms(token)) if (content.includes(form)) found.push(`${where} has ${form}`)
  }
  search('stdout', ended.stdout)
  search('stderr', ended.stderr)
  const entries = await readdir(trial.warehouse, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name)
    search(`the name of ${file}`, entry.name)
    if (!entry.isFile()) continue
    search(file, await readFile(file))
    if (!entry.name.endsWith('.duckdb')) continue
    using reader = await openReader(file)
    for (const { schema, name } of ALL_TABLES) {
      const rows = await reader.query(`SELECT * FROM ${schema}.${name}`)
      for (const row of rows)
        for (const [column, value] of Object.entries(row))
          search(`${entry.name} ${schema}.${name}.${column}`, String(value))
    }
  }
  return found
}

interface Echo {
  readonly when: string
  readonly exit: number
  readonly script: (api: ScriptedApi, token: string) => void
}

const answering = (status: number, body: (token: string) => string, headers = (_: string) => ({})) => {
  return (api: ScriptedApi, token: string) => {
    api.hook = (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers(token) }).end(body(token))
      return true
    }
  }
}

const ECHOES: readonly Echo[] = [
  {
    when: 'a 401 whose body contains it',
    exit: 4,
    script: answering(401, (token) => JSON.stringify({ error: `bad token ${token}` })),
  },
  {
    when: 'a redirect to an address that contains it',
    exit: 4,
    script: answering(
      302,
      () => '',
      (token) => ({
        location: `http://${encodeURIComponent(token)}.example/?token=${encodeURIComponent(token)}`,
      }),
    ),
  },
  {
    when: 'a 401 with it in other encodings',
    exit: 4,
    script: answering(401, (token) => encodings(token).join('\n')),
  },
  {
    when: 'a 500 that echoes the headers',
    exit: 4,
    script: answering(
      500,
      (token) =>
        `{"headers":{"authorization-token":"${JSON.stringify(token).slice(1, -1).replaceAll('/', '\\/')}"}}`,
    ),
  },
  {
    when: 'a 400 that echoes it, for one survey',
    exit: 3,
    script: (api, token) => {
      api.hook = ({ path }, response) => {
        if (path !== '/surveys/1/fieldwork_progress') return false
        sendJson(api, response, 400, { error: token })
        return true
      }
    },
  },
  { when: 'garbage that contains it', exit: 4, script: answering(200, (token) => `${token} <html>${token}`) },
  {
    when: 'rows that contain it in known, wrong-typed and unknown fields, as a name, and with escaped slashes',
    exit: 5,
    script: (api, token) => {
      api.surveys.push(
        scriptedSurvey(2, { title: `about ${token}`, status: token, note: { [token]: [token] } }),
        scriptedSurvey(3, { respondent_questions_count: token }),
      )
      api.surveys[0]!.progress = scriptedProgress(1, {
        debug: `token=${encodeURIComponent(token)}`,
        encoded: encodings(token),
        length_of_interview: token,
      })
      const send = api.hook
      api.hook = (arrival, response) => {
        const end = response.end.bind(response)
        response.end = ((text: string) => end(text.replaceAll('/', '\\/'))) as typeof response.end
        return send(arrival, response)
      }
    },
  },
]

test.concurrent.for(some(ECHOES, 3))(
  'the token does not leak from $when',
  async ({ exit, script }, context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    script(trial.api, ODD_TOKEN)
    const limits = { attempts: 2, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' }
    const args = ['sync', '--log-level', 'debug', ...(await trial.settings({ limits }))]
    const ended = await trial.runWarm(args, { FIELDWORK_SYNC_API_TOKEN: ODD_TOKEN })
    expect(ended.code).toBe(exit)
    expect(ended.stderr).not.toBe('')
    expect(await leaks(trial, ended, ODD_TOKEN)).toEqual([])
  },
)

interface Misplaced {
  readonly when: string
  readonly env?: Record<string, string | undefined>
  readonly settings?: object
  readonly args?: readonly string[]
}

const MISPLACED: readonly Misplaced[] = [
  {
    when: 'in the address and with a line break',
    env: {
      FIELDWORK_SYNC_BASE_URL: `https://me:${TOKEN}@api.example/api/v1`,
      FIELDWORK_SYNC_API_ID: TOKEN,
      FIELDWORK_SYNC_API_TOKEN: `${TOKEN}\n`,
    },
  },
  {
    when: 'in keys and values of the settings file',
    env: NO_ACCOUNT,
    settings: {
      [TOKEN]: TOKEN,
      accounts: [
        { id: TOKEN, base_url: `https://${TOKEN}`, token: 7, rate_limit: { per: TOKEN } },
        { id: 7, base_url: `https://api.example/${TOKEN}`, token: `${TOKEN}\nmore` },
      ],
    },
  },
  { when: 'on the command line instead of the settings', args: [TOKEN, `--${TOKEN}`] },
]

test.concurrent.for(MISPLACED)(
  'the token does not leak from settings that contain it $when',
  async ({ env, settings, args = [] }, context) => {
    const trial = await openTrial(context, [scriptedSurvey(1)])
    await mkdir(trial.warehouse)
    const file = settings === undefined ? [] : await trial.settings(settings)
    const ended = await trial.runWarm(['sync', '--json', ...args, ...file], env)
    expect(ended.code).toBe(2)
    expect(ended.stderr).not.toBe('')
    expect(await leaks(trial, ended, TOKEN)).toEqual([])
    expect(trial.api.arrivals).toHaveLength(0)
  },
)
