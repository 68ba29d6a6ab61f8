/**
 * A page in a real headless Chromium, driven over a pipe by the DevTools protocol. It records the page's requests and
 * problems: exceptions, errors on the console, and violations of its content policy.
 */
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { z } from 'zod'

/** Starting it to ask takes half a second. */
export const hasChromium = (process.env.PATH ?? '')
  .split(':')
  .some((place) => existsSync(join(place, 'chromium')))

const message = z.object({
  id: z.int().optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).default({}),
  result: z.record(z.string(), z.unknown()).default({}),
  error: z.object({ message: z.string() }).optional(),
})
const logEntry = z.object({ entry: z.object({ level: z.string(), text: z.string() }) })
const requested = z.object({ request: z.object({ url: z.string() }) })

/** Messages on the pipe end with a zero byte. */
const END = '\0'

export type ChromiumPage = Awaited<ReturnType<typeof openInChromium>>

export const openInChromium = async (url: string) => {
  const profile = await mkdtemp(join(tmpdir(), 'fieldwork-sync-chromium-'))
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--no-first-run']
  const browser = spawn('chromium', [...flags, '--window-size=1200,2000', `--user-data-dir=${profile}`], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const [, , , input, output] = browser.stdio
  if (!(input instanceof Writable && output instanceof Readable)) throw new Error('no pipes to Chromium')
  const requests: string[] = []
  const problems: string[] = []
  const loaded = new EventEmitter()
  const waiting = new Map<number, (answer: z.output<typeof message>) => void>()
  const receive = (text: string): void => {
    const received = message.parse(JSON.parse(text))
    if (received.id !== undefined) waiting.get(received.id)?.(received)
    if (received.method === 'Page.loadEventFired') loaded.emit('load')
    if (received.method === 'Network.requestWillBeSent') {
      requests.push(requested.parse(received.params).request.url)
    }
    if (received.method === 'Runtime.exceptionThrown') problems.push(JSON.stringify(received.params))
    if (received.method === 'Log.entryAdded') {
      const { level, text: entryText } = logEntry.parse(received.params).entry
      if (level === 'error') problems.push(entryText)
    }
    if (received.method === 'Runtime.consoleAPICalled' && received.params.type === 'error') {
      problems.push(JSON.stringify(received.params.args))
    }
  }
  let unread = ''
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const texts = `${unread}${chunk}`.split(END)
    unread = texts.pop() ?? ''
    texts.forEach(receive)
  })
  const ended = once(browser, 'close').then(() => {
    const answer = message.parse({ error: { message: 'Chromium has ended' } })
    for (const resolve of waiting.values()) resolve(answer)
  })
  let lastId = 0
  const send = async (method: string, params: object = {}, sessionId?: string) => {
    lastId += 1
    const id = lastId
    const { result, error } = await new Promise<z.output<typeof message>>((resolve) => {
      waiting.set(id, resolve)
      input.write(`${JSON.stringify({ id, method, params, sessionId })}${END}`)
    })
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  const attached = await send('Target.attachToTarget', { targetId, flatten: true })
  const sessionId = z.string().parse(attached.sessionId)
  for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await send(`${domain}.enable`, {}, sessionId)
  await send('Page.navigate', { url }, sessionId)
  /** Waits until an expression on the page is truthy, and returns its value. */
  const waitFor = async (expression: string): Promise<unknown> => {
    const polling = `new Promise((resolve) => {
      const look = () => {
        const value = ${expression}
        if (value) resolve(value)
        else setTimeout(look, 20)
      }
      look()
    })`
    const { result, exceptionDetails } = await send(
      'Runtime.evaluate',
      { expression: polling, awaitPromise: true, returnByValue: true },
      sessionId,
    )
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return z.object({ value: z.unknown() }).parse(result).value
  }
  return {
    requests,
    problems,
    waitFor,
    /** A command of the DevTools protocol, such as `Emulation.setEmulatedMedia`. */
    send: (method: string, params: object = {}) => send(method, params, sessionId),
    /** Resolves when the page is loaded. It needs no script of the page. */
    navigate: async (to: string) => {
      const isLoaded = once(loaded, 'load')
      await send('Page.navigate', { url: to }, sessionId)
      await isLoaded
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([send('Browser.close'), ended])
      await rm(profile, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
