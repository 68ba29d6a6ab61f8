/** What both test files of monitoring use. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { scriptedSurveys } from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { type Receiver, startReceiver } from '../support/servers/receiver.js'

/** The path is what protects such an address. */
export const PATHS = {
  start: '/ping/8d0f2c1e-start-secret',
  success: '/ping/8d0f2c1e-success-secret',
  failure: '/ping/8d0f2c1e-failure-secret',
  webhook: '/hooks/T024BE7LD/xoxb-webhook-secret',
}

export const notifyOf = ({ url }: Pick<Receiver, 'url'>): Record<string, string> =>
  Object.fromEntries(Object.entries(PATHS).map(([key, path]) => [key, `${url}${path}`]))

const SECRETS = [...Object.values(PATHS), 'xoxb-webhook-secret', '8d0f2c1e-failure-secret']

export const expectNoSecret = ({ stdout, stderr }: Ended): void => {
  for (const secret of SECRETS) expect(`${stdout}${stderr}`).not.toContain(secret)
}

/** The samples of an exposition, without the label `warehouse`. */
export const samplesIn = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ')
        const name = line.slice(0, at).replace(/^fieldwork_sync_/, '')
        return [name.replace(/warehouse="[^"]*",?/, '').replace(/,?\}$/, '}'), Number(line.slice(at + 1))]
      }),
  )

/** A trial whose runs are reported to a receiver, and write their metrics into a file. */
export const openMonitored = async (
  context: Parameters<typeof openTrial>[0],
  surveys = 1,
  more: object = {},
) => {
  const trial = await openTrial(context, scriptedSurveys(surveys))
  const receiver = await startReceiver(context.onTestFinished)
  const file = join(await trial.temporary(), 'fieldwork_sync.prom')
  const notify = notifyOf(receiver)
  const settings = await trial.settings({ metrics: { file }, notify, ...more })
  return { trial, receiver, file, notify, settings }
}

export const metricsIn = async (file: string) => samplesIn(await readFile(file, 'utf8'))
