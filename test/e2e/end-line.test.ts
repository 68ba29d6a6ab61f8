/** Where stderr is no terminal, its last line says in JSON how the command ended, why, and what to do next. */
import { expect, test } from 'vitest'
import { TOKEN } from '../support/api/scripted-api.js'
import { openTrial, stopWith } from '../support/command/trial.js'

test.concurrent('of every other command that fails, without a token, also after a signal', async (context) => {
  const trial = await openTrial(context)
  for (const args of [
    ['status'],
    ['export', '--format', 'csv', '--out', 'files'],
    ['query', 'FROM surveys'],
    ['report'],
    ['verify', '--local'],
  ])
    expect(await trial.runWarm(args), args.join(' ')).toMatchObject({
      code: 2,
      end: {
        exit_code: 2,
        reason: expect.any(String),
        next: expect.stringMatching(/^run fieldwork-sync sync first/),
      },
    })
  expect(await trial.runWarm(['schema', '--format', 'x'])).toMatchObject({
    code: 2,
    end: { next: expect.stringMatching(/^correct what the reason names, then run the command again/) },
  })
  expect(await trial.runWarm(['nonsense'])).toMatchObject({
    code: 2,
    end: { msg: 'nonsense ended with exit 2' },
  })
  expect(await trial.runWarm(['--version'])).toMatchObject({ code: 0, end: null, stderr: '' })
  trial.api.hook = (_, response) => {
    response.writeHead(400).end(`the token ${TOKEN} is odd`)
    return true
  }
  const refused = await trial.runWarm(['sync'])
  expect(refused).toMatchObject({ code: 4, end: { reason: expect.stringContaining('[redacted]') } })
  expect(JSON.stringify(refused)).not.toContain(TOKEN)
  trial.api.hook = () => true
  const arrived = trial.api.arrived(() => true)
  const running = trial.start(['sync'])
  await arrived
  expect(await stopWith(running, 'SIGTERM')).toMatchObject({ code: 3, end: { exit_code: 3, level: 'warn' } })
})
