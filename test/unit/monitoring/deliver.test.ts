/** Messages to services that work, fail, redirect, hang or are not there, with and without a proxy. */
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import { type Delivery, type DeliveryTools, deliver } from '../../../src/monitoring/deliver.js'
import { startProxy } from '../../support/servers/proxy.js'
import { type Receiver, startReceiver } from '../../support/servers/receiver.js'

const PATH = '/hooks/xoxb-webhook-secret'

const deliveryTo = (url: string, proxy: Delivery['target']['proxy'] = null): Delivery => ({
  target: { setting: 'notify.webhook', url: new Secret(`${url}${PATH}`), proxy },
  method: 'POST',
  contentType: 'application/json',
  body: '{"text":"é"}',
})

/** The wait before the second attempt takes no time. */
const tools = (signal = new AbortController().signal): DeliveryTools => ({
  clock: { ...systemClock, after: (_, act) => systemClock.after(0, act) },
  signal,
  redact: createRedactor([new Secret(PATH)]),
})

const hostOf = ({ url }: Receiver): string => new URL(url).host

test.concurrent('a message arrives once, with its type and the name of this program', async ({
  onTestFinished,
}) => {
  const receiver = await startReceiver(onTestFinished)
  expect(await deliver(deliveryTo(receiver.url), tools())).toBeNull()
  expect(receiver.received).toMatchObject([{ method: 'POST', path: PATH, body: '{"text":"é"}' }])
  expect(receiver.received[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^fieldwork-sync\/\d/),
  })
})

test.concurrent.for([
  [500, 2],
  [429, 2],
  [408, 2],
  [404, 1],
  [400, 1],
] as const)('an answer %i ends after %i requests', async ([status, requests], { onTestFinished }) => {
  const receiver = await startReceiver(onTestFinished)
  receiver.answer = ({ path }, response) => {
    response.writeHead(status).end(`no ${path}\n\u0000here`)
  }
  expect(await deliver(deliveryTo(receiver.url), tools())).toBe(
    `${hostOf(receiver)} answered ${status} (response: no [redacted] here)`,
  )
  expect(receiver.received).toHaveLength(requests)
})

test.concurrent('a second request may succeed', async ({ onTestFinished }) => {
  const receiver = await startReceiver(onTestFinished)
  receiver.answer = (_, response) => {
    if (receiver.received.length === 1) response.destroy()
    else response.end()
  }
  expect(await deliver(deliveryTo(receiver.url), tools())).toBeNull()
})

test.concurrent('a redirect is not followed, and its target gets nothing', async ({ onTestFinished }) => {
  const receiver = await startReceiver(onTestFinished)
  const elsewhere = await startReceiver(onTestFinished)
  receiver.answer = ({ path }, response) => {
    response.writeHead(307, { location: `${elsewhere.url}${path}` }).end()
  }
  expect(await deliver(deliveryTo(receiver.url), tools())).toBe(
    `${hostOf(receiver)} redirects (307) to ${hostOf(elsewhere)}, and redirects are not followed`,
  )
  expect([receiver.received.length, elsewhere.received.length]).toEqual([1, 0])
})

test.concurrent('a service that is not there is named by its host', async () => {
  expect(await deliver(deliveryTo('http://127.0.0.1:1'), tools())).toBe(
    '127.0.0.1:1: connection refused (ECONNREFUSED)',
  )
})

test.concurrent.for(['headers', 'body'] as const)(
  'a service whose %s hang ends with the signal',
  async (part, { onTestFinished }) => {
    const receiver = await startReceiver(onTestFinished)
    const stop = new AbortController()
    receiver.answer = (_, response) => {
      if (part === 'body') response.writeHead(500).write('…')
      setTimeout(() => stop.abort(), 50)
    }
    expect(await deliver(deliveryTo(receiver.url), tools(stop.signal))).toMatch(
      / (did not answer in time|answered 500)$/,
    )
    expect(receiver.received).toHaveLength(1)
  },
)

test.concurrent('user and password of an address become a header', async ({ onTestFinished }) => {
  const receiver = await startReceiver(onTestFinished)
  const url = receiver.url.replace('//', '//me:p%40ss@')
  expect(await deliver(deliveryTo(url), tools())).toBeNull()
  const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
  expect(receiver.received[0]?.headers).toMatchObject({ authorization })
})

test.concurrent('a message goes through a proxy, which is named when it refuses', async ({
  onTestFinished,
}) => {
  const receiver = await startReceiver(onTestFinished)
  const proxy = await startProxy(onTestFinished)
  const through = deliveryTo(receiver.url, {
    address: `http://${proxy.host}`,
    variable: 'HTTP_PROXY',
    authorization: null,
    secrets: [],
  })
  expect(await deliver(through, tools())).toBeNull()
  expect(proxy.requests).toMatchObject([{ method: 'POST', url: `${receiver.url}${PATH}` }])
  expect(receiver.received).toMatchObject([{ body: '{"text":"é"}' }])
  proxy.refusal = 407
  expect(await deliver(through, tools())).toBe(
    `the proxy http://${proxy.host} (HTTP_PROXY) requires a user and password (407): put them into HTTP_PROXY, as in http://user:password@host:port`,
  )
})
