/** Syncs through tinyproxy, an independent proxy. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { makeCertificates } from '../support/servers/certificates.js'
import { freePort } from '../support/servers/server.js'
import { startTlsFront } from '../support/servers/tls-front.js'
import { lacks } from '../support/suite/lacks.js'

const PASSWORD = 'tiny-pr0xy-password'

const isUp = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

/** Returns `host:port`. */
const startTinyproxy = async (finished: Finished): Promise<string> => {
  const port = await freePort()
  const file = join(await temporaryDirectory(finished), 'tinyproxy.conf')
  await writeFile(
    file,
    `Listen 127.0.0.1\nPort ${port}\nTimeout 30\nMaxClients 20\nBasicAuth user ${PASSWORD}\n`,
  )
  const child = spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  finished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  while (child.exitCode === null && !(await isUp(port))) await delay(20)
  expect(child.exitCode).toBeNull()
  return `127.0.0.1:${port}`
}

test.skipIf(lacks('tinyproxy') || lacks('openssl'))(
  'a sync goes through tinyproxy over http and https, and names the proxy for a wrong password and an unknown host',
  async (context) => {
    const proxy = await startTinyproxy(context.onTestFinished)
    const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
    const directory = await temporaryDirectory(context.onTestFinished)
    const certificates = makeCertificates(directory, ['IP:127.0.0.1'])
    const tlsPort = await startTlsFront(trial.api.baseUrl, certificates, context.onTestFinished)
    const limits = { attempts: 2, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' }
    const sync = ['sync', '--log-level', 'debug', ...(await trial.settings({ limits }))]
    const good = `http://user:${PASSWORD}@${proxy}`
    const overTls = {
      FIELDWORK_SYNC_BASE_URL: `https://127.0.0.1:${tlsPort}/api/v1`,
      NODE_EXTRA_CA_CERTS: certificates.caFile,
    }
    const ended = [
      await trial.run(sync, { HTTP_PROXY: good }),
      await trial.run(sync, { ...overTls, HTTPS_PROXY: good }),
      await trial.run(sync, { HTTP_PROXY: `http://user:wrong-password@${proxy}` }),
      await trial.run(sync, { ...overTls, HTTPS_PROXY: `http://user:wrong-password@${proxy}` }),
      await trial.run(sync, { FIELDWORK_SYNC_BASE_URL: 'https://api.test/api/v1', HTTPS_PROXY: good }),
    ]
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 4, 4, 4])
    // To a plain request with a wrong password tinyproxy answers 401, as the API would.
    expect(ended[2]?.stdout).toMatch(/refused the credentials \(401\).*<title>401 Unauthorized/)
    expect(ended[3]?.stdout).toContain('refused the user and password of HTTPS_PROXY (401)')
    expect(ended[4]?.stdout).toMatch(
      /after 2 attempts: the proxy \S+ \(HTTPS_PROXY\) could not connect to api\.test:443 \(5\d\d\)/,
    )
    for (const { stdout, stderr } of ended)
      expect(`${stdout}${stderr}`).not.toMatch(/tiny-pr0xy|wrong-password/)
  },
)
