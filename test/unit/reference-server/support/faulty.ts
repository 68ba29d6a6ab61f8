/** Plain clients for a server with faults, and helpers that set and read the faults. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import type { Api, ReceivedAnswer } from './api.js'

/** A GET over a socket of its own, sent and left open. */
export const openRequest = async (
  api: Api,
  path: string,
  more: Record<string, string> = {},
): Promise<Socket> => {
  const { hostname, port, pathname, search } = new URL(`${api.server.baseUrl}${path}`)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const headers = { Host: hostname, ...api.credentials(), ...more }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return socket
}

/**
 * Reads everything that comes on a socket until the server ends it. `head` is status line and headers, empty when nothing came, and `error`
 * how the connection ended: an error's code, or null for an orderly end.
 */
export const readToEnd = async (socket: Socket) => {
  const pieces: Buffer[] = []
  let error = null as string | null
  socket.on('data', (piece) => pieces.push(piece))
  socket.on('error', (cause: NodeJS.ErrnoException) => {
    error = cause.code ?? cause.message
  })
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  const bytes = Buffer.concat(pieces)
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return { head: '', body: bytes, error }
  return { head: bytes.subarray(0, end).toString('latin1'), body: bytes.subarray(end + 4), error }
}

export const askRaw = async (api: Api, path: string, more: Record<string, string> = {}) =>
  await readToEnd(await openRequest(api, path, more))

/** Uses node:http, which neither requests nor undoes compression. Rejects with the error's code when it is cut off. */
export const askBytes = async (api: Api, path: string, more: Record<string, string> = {}) => {
  const headers = { ...api.credentials(), ...more }
  const sent = get(`${api.server.baseUrl}${path}`, { headers, agent: false })
  const [response]: IncomingMessage[] = await once(sent, 'response')
  return { status: response!.statusCode, headers: response!.headers, bytes: await buffer(response!) }
}

/** The code of the error that `request` ends with, or null. */
export const errorCodeOf = async (request: Promise<unknown>): Promise<string | null> => {
  try {
    await request
    return null
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  }
}

export const putFaults = (api: Api, faults: unknown): Promise<ReceivedAnswer> =>
  api.control('/faults', { method: 'PUT', body: JSON.stringify(faults) })

const countedFaults = z.array(z.looseObject({ matched: z.int(), acted: z.int() }))

/** How often each fault matched and acted. */
export const countsOf = async (api: Api): Promise<[matched: number, acted: number][]> =>
  countedFaults.parse((await api.control('/faults')).json).map(({ matched, acted }) => [matched, acted])

const logged = z.object({
  requests: z.array(z.looseObject({ status: z.int().nullable(), faults: z.array(z.int()) })),
})

/** Status and faults of each request, from the log. */
export const loggedFaults = async (api: Api): Promise<[status: number | null, faults: number[]][]> =>
  logged.parse((await api.control('/requests')).json).requests.map(({ status, faults }) => [status, faults])

/** Resolves when so many requests have reached the API. */
export const arrived = async (api: Api, count: number): Promise<void> => {
  while ((await loggedFaults(api)).length < count) await new Promise((resolve) => setImmediate(resolve))
}
