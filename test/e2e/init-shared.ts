/** What both test files of init use. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadSettings } from '../../src/settings/load-settings.js'
import { type ScriptedApi, scriptedSurvey, startScriptedApi } from '../support/api/scripted-api.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'

export const TOKEN = 'tok-7b1e-SECRET-42'

interface Place {
  readonly api: ScriptedApi
  readonly url: string
  readonly id: string
  readonly directory: string
  readonly out: string
  readonly tokenFile: string
  /** The flags that are required without a terminal, and a warehouse. */
  readonly flags: readonly string[]
}

export const openPlace = async ({
  onTestFinished,
}: {
  readonly onTestFinished: Finished
}): Promise<Place> => {
  const api = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2)], onTestFinished)
  const directory = await temporaryDirectory(onTestFinished)
  onTestFinished(() => rm(`${directory}.pid`, { force: true }))
  const out = join(directory, 'settings.yaml')
  const tokenFile = join(directory, 'token')
  await writeFile(tokenFile, `${TOKEN}\n`)
  const { FIELDWORK_SYNC_BASE_URL: url = '', FIELDWORK_SYNC_API_ID: id = '' } = api.env
  const account = ['--base-url', url, '--id', id, '--token-file', tokenFile]
  const flags = [...account, '--warehouse', join(directory, 'warehouse'), '--out', out]
  return { api, url, id, directory, out, tokenFile, flags }
}

export const settingsIn = (config: string) =>
  loadSettings({ env: {}, signal: new AbortController().signal, flags: { config } })
