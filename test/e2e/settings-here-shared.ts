/** What both test files of settings-here use. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Env } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'

export const NOTE = 'settings from ./fieldwork-sync.yaml'

export const openHere = async (context: Parameters<typeof openTrial>[0]) => {
  const trial = await openTrial(context)
  const directory = await trial.temporary()
  const settings = {
    accounts: [
      {
        name: 'acme',
        base_url: trial.api.env.FIELDWORK_SYNC_BASE_URL,
        id: Number(trial.api.env.FIELDWORK_SYNC_API_ID),
        token: trial.api.env.FIELDWORK_SYNC_API_TOKEN,
      },
    ],
    warehouse: { directory: trial.warehouse },
  }
  return {
    file: join(directory, 'fieldwork-sync.yaml'),
    put: (more: object = {}) =>
      writeFile(join(directory, 'fieldwork-sync.yaml'), JSON.stringify({ ...settings, ...more })),
    other: () => trial.settings({ ...settings, warehouse: { directory: join(directory, 'other') } }),
    run: (args: readonly string[], env: Env = {}) => runWarm(args, env, directory),
    requests: () => trial.api.arrivals.length,
    temporary: trial.temporary,
  }
}
