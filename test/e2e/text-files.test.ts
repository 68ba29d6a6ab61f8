/** Files and tokens in the forms that editors and shells write. They are read, or refused with one line. */
import { execFileSync } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NO_ACCOUNT, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { temporaryDirectory } from '../support/files/temporary.js'

const CANNOT = 'contains a line break, control character or non-ASCII character; a header cannot carry that'

test('a token that a header cannot carry is refused with exit 2 and its place before any request', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const directory = await trial.temporary()
  const odd = `${TOKEN}-\u00e9`
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
  const cases: readonly (readonly [readonly string[], Record<string, string | undefined>, string])[] = [
    [[], { FIELDWORK_SYNC_API_TOKEN: odd }, `FIELDWORK_SYNC_API_TOKEN: ${CANNOT}`],
    ...[
      [ofText, `${ofText} ${CANNOT}`],
      ...[ofUtf16, ofLatin1].map((path) => [path, 'that it names is not UTF-8 text; is it the right file?']),
    ].map(([path, says]) => {
      const env = { FIELDWORK_SYNC_API_TOKEN: undefined, FIELDWORK_SYNC_API_TOKEN_FILE: path }
      return [[], env, `FIELDWORK_SYNC_API_TOKEN_FILE: the token file ${says}`] as const
    }),
    [settings, NO_ACCOUNT, `settings.yaml:1: accounts[0].token ${CANNOT}`],
  ]
  for (const [args, env, line] of cases) {
    const { code, stderr, stdout } = await trial.runWarm(['sync', ...args], env)
    expect(code).toBe(2)
    expect(stderr.split('\n').filter((one) => one.includes(line))).toHaveLength(1)
    expect(`${stdout}${stderr}`).not.toContain(TOKEN)
  }
  expect(trial.api.arrivals).toEqual([])
})

const newPipe = async (context: Parameters<typeof openTrial>[0]): Promise<string> => {
  const pipe = join(await temporaryDirectory(context.onTestFinished), 'pipe')
  execFileSync('mkfifo', [pipe])
  return pipe
}

test.concurrent('a token that comes through a pipe late is used', async (context) => {
  const trial = await openTrial(context, [])
  const pipe = await newPipe(context)
  const running = trial.start(['plan'], {
    FIELDWORK_SYNC_API_TOKEN: undefined,
    FIELDWORK_SYNC_API_TOKEN_FILE: pipe,
  })
  // It opens when the command waits for the token.
  const writer = await open(pipe, 'w')
  await writer.write(TOKEN.slice(0, 3))
  await writer.write(`${TOKEN.slice(3)}\n`)
  await writer.close()
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
})

test.concurrent('a file without an end is refused', async () => {
  const { code, stderr } = await runWarm(['status', '--config', '/dev/zero'])
  expect(code).toBe(2)
  expect(stderr).toContain('/dev/zero: the settings file is larger than 1 MiB; is it the right file?')
})
