/** Faults on the connection: answers that come late, broken, cut off or not at all, as plain clients see them. */
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { startApi } from './support/api.js'
import {
  arrived,
  askBytes,
  askRaw,
  errorCodeOf,
  loggedFaults,
  openRequest,
  putFaults,
  readToEnd,
} from './support/faulty.js'

const always = (action: object) => [{ times: 'always', action }]

describe('reset', () => {
  test('resets the connection without one byte, and logs no status', async () => {
    await using api = await startApi({ surveys: 1, faults: [{ action: { reset: true } }] })
    expect(await askRaw(api, '/surveys')).toEqual({ head: '', body: Buffer.alloc(0), error: 'ECONNRESET' })
    expect((await askBytes(api, '/surveys')).status).toBe(200)
    expect(await loggedFaults(api)).toEqual([
      [null, [0]],
      [200, []],
    ])
  })
})

describe('hang', () => {
  test('never answers, while other requests are answered; the server closes nevertheless', async () => {
    const api = await startApi({ surveys: 1, faults: [{ action: { hang: true } }] })
    const hanging = await openRequest(api, '/surveys')
    await arrived(api, 1)
    expect((await api.ask('/surveys')).status).toBe(200)
    expect([hanging.bytesRead, hanging.closed]).toEqual([0, false])
    const ended = readToEnd(hanging)
    await api.server.close()
    expect((await ended).body.length).toBe(0)
    await expect(fetch(api.server.baseUrl)).rejects.toThrow()
  })

  test('leaves nothing behind when the client closes the connection', async () => {
    await using api = await startApi({ surveys: 1, faults: always({ hang: true }) })
    for (let time = 1; time <= 3; time++) {
      const socket = await openRequest(api, '/surveys')
      await arrived(api, time)
      socket.destroy()
    }
    await putFaults(api, [])
    expect((await api.ask('/surveys')).status).toBe(200)
    expect(await loggedFaults(api)).toEqual([
      [null, [0]],
      [null, [0]],
      [null, [0]],
      [200, []],
    ])
  })
})

describe('delay_ms', () => {
  test('delays the answer by at least so long, and delays add up', async () => {
    const faults = [{ action: { delay_ms: 60 } }, { action: { delay_ms: 50 } }]
    await using api = await startApi({ surveys: 1, faults })
    const startedMs = performance.now()
    expect((await api.ask('/surveys')).status).toBe(200)
    // A timer may be a millisecond early.
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(108)
    expect(await loggedFaults(api)).toEqual([[200, [0, 1]]])
  })

  test('does not delay other requests, logs the moment of arrival, and ends with the server', async () => {
    const api = await startApi({ surveys: 1, faults: [{ action: { delay_ms: 600_000 } }] })
    const late = await openRequest(api, '/surveys')
    await arrived(api, 1)
    expect((await api.ask('/surveys')).status).toBe(200)
    const ended = readToEnd(late)
    await api.server.close()
    expect((await ended).body.length).toBe(0)
    await expect(fetch(api.server.baseUrl)).rejects.toThrow()
  })

  test('a client may close the connection during the delay', async () => {
    const faults = [
      { times: 3, action: { delay_ms: 30 } },
      { times: 3, action: { truncate: 5 } },
    ]
    await using api = await startApi({ surveys: 1, faults })
    const one = await openRequest(api, '/surveys')
    const other = await openRequest(api, '/surveys')
    await arrived(api, 2)
    one.destroy()
    other.resetAndDestroy()
    expect((await askRaw(api, '/surveys')).body.length).toBe(5)
    expect((await api.ask('/surveys')).status).toBe(200)
  })
})

describe('truncate', () => {
  test('announces the whole body, sends so many bytes, and ends the connection', async () => {
    await using api = await startApi({ surveys: 3 })
    const whole = await askBytes(api, '/surveys')
    await putFaults(api, [{ action: { truncate: 120 } }])
    const { head, body, error } = await askRaw(api, '/surveys')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(head).toContain(`\r\ncontent-length: ${whole.bytes.length}`)
    expect(head).toContain('\r\ncontent-type: application/json; charset=utf-8')
    expect(head).toContain(`\r\ndate: ${whole.headers.date}`)
    expect(body).toEqual(whole.bytes.subarray(0, 120))
    expect(error).toBeNull()
    expect(await loggedFaults(api)).toEqual([
      [200, []],
      [200, [0]],
    ])
  })

  test('counts bytes of the compressed body', async () => {
    await using api = await startApi({ surveys: 50 })
    const gzip = { 'accept-encoding': 'gzip' }
    const whole = await askBytes(api, '/surveys', gzip)
    await putFaults(api, always({ truncate: 700 }))
    const { head, body } = await askRaw(api, '/surveys', gzip)
    expect(head).toContain('\r\ncontent-encoding: gzip')
    expect(head).toContain(`\r\ncontent-length: ${whole.bytes.length}`)
    expect(whole.bytes.length).toBeGreaterThan(700)
    expect(body).toEqual(whole.bytes.subarray(0, 700))
    expect(() => gunzipSync(body)).toThrow(/unexpected end/)
    expect(await errorCodeOf(askBytes(api, '/surveys', gzip))).toBe('ECONNRESET')
  })

  test('0 sends only the headers; a number above the length sends the whole body and then ends the connection', async () => {
    await using api = await startApi({
      surveys: 1,
      faults: [{ action: { truncate: 0 } }, { after: 1, action: { truncate: 1_000_000 } }],
    })
    const none = await askRaw(api, '/surveys')
    expect(none.head).toMatch(/content-length: [1-9]/)
    expect([none.body.length, none.error]).toEqual([0, null])
    const all = await askRaw(api, '/surveys')
    expect(all.head).toContain(`content-length: ${all.body.length}`)
    expect(JSON.parse(all.body.toString())).toMatchObject({ pagination: { total_count: 1 } })
  })
})

describe('several faults of the connection', () => {
  test.each([
    [[{ truncate: 3 }, { reset: true }], { status: 200, error: null }],
    [[{ reset: true }, { truncate: 3 }], { status: null, error: 'ECONNRESET' }],
    [[{ status: 503 }, { truncate: 3 }, { hang: true }], { status: 503, error: null }],
  ])('the first one decides: %j', async (actions, { status, error }) => {
    await using api = await startApi({ surveys: 1, faults: actions.map((action) => ({ action })) })
    expect((await askRaw(api, '/surveys', { Connection: 'close' })).error).toBe(error)
    expect(await loggedFaults(api)).toEqual([[status, actions.map((_, place) => place)]])
  })
})
