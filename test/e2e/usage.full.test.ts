import { expect, test } from 'vitest'
import { projectDirectory } from '../integration/deploy/dockerfile.js'
import { refusing } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { openTerminal, textOf } from '../support/process/terminal.mjs'
import { lacks } from '../support/suite/lacks.js'

test.skipIf(lacks('script') || lacks('bash'))(
  'on a terminal the lines of an error end between words',
  async () => {
    await using terminal = await openTerminal({
      cwd: projectDirectory,
      env: { PATH: process.env.PATH },
      columns: 60,
    })
    const shown = await terminal.run(
      `'${process.execPath}' '${MAIN}' sync --dry-run --frobnicate --max-request 3`,
    )
    const lines = textOf(shown)
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toBe(
      'fieldwork-sync: sync has no flag --dry-run: fieldwork-sync plan shows what sync would request; sync has no flag --frobnicate; sync has no flag --max-request: did you mean --max-requests? See fieldwork-sync sync --help',
    )
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
    expect(lines.length).toBeGreaterThan(3)
  },
)

test.skipIf(lacks('script') || lacks('bash'))(
  'on a terminal the lines of a check and of a run end between words',
  async (context) => {
    const trial = await openTrial(context)
    trial.api.hook = refusing(trial.api, 401)
    await using terminal = await openTerminal({
      cwd: projectDirectory,
      env: {
        ...{ PATH: process.env.PATH, TERM: 'xterm' },
        ...trial.api.env,
        FIELDWORK_SYNC_WAREHOUSE: trial.warehouse,
      },
      columns: 60,
    })
    for (const command of ['check', 'sync']) {
      const shown = await terminal.run(`'${process.execPath}' '${MAIN}' ${command}`)
      const lines = textOf(shown)
      expect(lines.join(' ').replaceAll(/ +/g, ' ')).toContain("check id and token of account 'default'")
      expect(lines.filter((line) => line.length > 60 && line.trim().includes(' '))).toEqual([])
    }
    trial.api.hook = () => undefined
    const complete = await terminal.run(`'${process.execPath}' '${MAIN}' sync`)
    expect(textOf(complete)).toContain('complete: 0 surveys refreshed, nothing left over.')
  },
)
