/** SIGTERM at any file operation of a command that reads the published state ends it with 3, or after its work with 0. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { failing } from '../support/process/failing-calls.js'
import { SLOW } from '../support/suite/slow.js'

const OUT = 'OUT'
const COMMANDS = [
  ['status'],
  ['plan'],
  ['report', '--out', OUT],
  ['export', '--format', 'csv', '--out', OUT],
  ['export', '--format', 'xlsx', '--out', OUT],
  ['verify', '--local'],
  ['verify'],
]

/** The calls at which the signal comes. Later ones than a command makes never happen. */
const CALLS = SLOW ? [...Array(40).keys()].map((call) => 1 + 3 * call) : [8]

test('a signal is a stop, at any file that a command reads', { timeout: 600_000 }, async ({
  onTestFinished,
  skip,
}) => {
  const trial = await openTrial({ onTestFinished }, [scriptedSurvey(1)])
  const below = trial.warehouse
  expect(await trial.run(['sync', '--publish', 'duckdb,parquet'])).toMatchObject({ code: 0 })
  const codes = new Set<number | null>()
  for (const atCall of CALLS) {
    const env = failing({ stop: { atCall, below } }, skip)
    for (const command of COMMANDS) {
      const out = join(await trial.temporary(), 'out')
      const ended = await trial.run(
        command.map((word) => (word === OUT ? out : word)),
        env,
      )
      const where = `${command[0]} at call ${atCall}`
      expect(ended, where).toMatchObject({ signal: null, stderr: expect.not.stringMatching(/cannot|bug/) })
      expect([0, 3], where).toContain(ended.code)
      codes.add(ended.code)
    }
  }
  expect(codes).toContain(3)
})
