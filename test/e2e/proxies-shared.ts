/** What both test files of proxies use. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'
import { startProxy, type TestProxy } from '../support/servers/proxy.js'

export const PASSWORD = 'pr0xy-p@ss/word'
export const CREDENTIALS = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`
/** A host that is not in DNS, so only a proxy finds it. */
export const HOST = 'api.test'
const LIMITS = { attempts: 3, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' }

export interface Context {
  readonly onTestFinished: Finished
}

export const begin = async (context: Context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const proxy = await startProxy(context.onTestFinished)
  const file = await trial.settings({ limits: LIMITS })
  return { trial, proxy, sync: ['sync', '--log-level', 'debug', ...file], check: ['check', ...file] }
}

export const withUser = ({ host }: TestProxy, password = PASSWORD): string =>
  `http://user:${encodeURIComponent(password)}@${host}`

/** Forms of the proxy's credentials that occur in the output or in a file of the warehouse. */
export const leaks = async (trial: Trial, { stdout, stderr }: Ended): Promise<string[]> => {
  const files = await readdir(trial.warehouse, { recursive: true, withFileTypes: true }).catch(() => [])
  const texts = await Promise.all(
    files
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')),
  )
  const forms = [PASSWORD, encodeURIComponent(PASSWORD), CREDENTIALS.slice('Basic '.length)]
  return forms.filter((form) => [stdout, stderr, ...texts].some((text) => text.includes(form)))
}
