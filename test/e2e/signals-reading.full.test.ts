/** SIGTERM at any file operation of a command that reads the published state ends it with 3, or after its work with 0. */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import type { Ended } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { failing } from '../support/process/failing-calls.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { lacks } from '../support/suite/lacks.js'

const OUT = 'OUT'
const COMMANDS = [
  ['report', '--out', OUT],
  ['status'],
  ['plan'],
  ['export', '--format', 'csv', '--out', OUT],
  ['export', '--format', 'xlsx', '--out', OUT],
  ['query', 'FROM surveys'],
  ['verify', '--local'],
  ['verify'],
]

/** The arguments, with a file in a new directory for the output. */
const argsOf = async (command: readonly string[], { temporary }: Pick<Trial, 'temporary'>) => {
  const out = join(await temporary(), 'out')
  return command.map((word) => (word === OUT ? out : word))
}

const expectStop = (ended: Ended, where: string): void => {
  expect(ended, where).toMatchObject({ signal: null, stderr: expect.not.stringMatching(/cannot|bug/) })
  expect([0, 3], where).toContain(ended.code)
}

/** The calls at which the signal comes. Later ones than a command makes never happen. */
const CALLS = [8, ...[...Array(40).keys()].map((call) => 1 + 3 * call)]

test.skipIf(lacks('gcc'))(
  'a signal is a stop, at any file that a command reads',
  async ({ onTestFinished }) => {
    const trial = await openTrial({ onTestFinished }, [scriptedSurvey(1)])
    const below = trial.warehouse
    const formats = 'duckdb,parquet'
    expect(await trial.runWarm(['sync', '--publish', formats])).toMatchObject({ code: 0 })
    const codes = new Set<number | null>()
    for (const atCall of CALLS) {
      const env = failing({ stop: { atCall, below } })
      for (const command of COMMANDS) {
        const ended = await trial.run(await argsOf(command, trial), env)
        expectStop(ended, `${command[0]} at call ${atCall}`)
        codes.add(ended.code)
      }
    }
    expect(codes).toContain(3)
  },
)

/** The requests to the store at which the signal comes. It does not answer until the command has ended. */
const REQUESTS = [1, 2, 3, 4, 5]

test('and at any request to a bucket, which does not answer meanwhile', async (context) => {
  const trial = await openBucketTrial(context, [scriptedSurvey(1)])
  const sync = await trial.runWarm(['sync', '--publish', 'duckdb,parquet'], await trial.pod())
  expect(sync).toMatchObject({ code: 0 })
  const codes = new Set<number | null>()
  for (const atRequest of REQUESTS) {
    for (const command of COMMANDS) {
      let requests = 0
      const running = trial.start(await argsOf(command, trial), await trial.pod())
      trial.fault = async () => {
        requests += 1
        if (requests < atRequest) return null
        running.child.kill('SIGTERM')
        await running.ended
        return null
      }
      const ended = await running.ended
      expectStop(ended, `${command[0]} at request ${atRequest} to the store`)
      if (requests >= atRequest) expect(ended.code).toBe(3)
      codes.add(ended.code)
    }
  }
  expect(codes).toContain(3)
})
