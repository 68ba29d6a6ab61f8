/** A real HTTP proxy on loopback. It tunnels on CONNECT, forwards requests in absolute form, and records every request. */
import { createServer, type IncomingMessage, request as send } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Finished } from '../files/temporary.js'
import { closeServer, listen } from './server.js'

interface ProxyRequest {
  readonly method: string
  /** `host:port` of a CONNECT, the whole URL of any other request. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export interface TestProxy {
  /** `host:port`. */
  readonly host: string
  readonly requests: ProxyRequest[]
  /** The status of every answer, or `close` to break every connection. With null the proxy does its work. */
  refusal: number | 'close' | null
  /** The address to which the proxy connects for every host, because the hosts of tests are not in DNS. */
  target: { readonly host: string; readonly port: number } | null
  /** The required `Basic …`; null requires none. */
  credentials: string | null
}

export const startProxy = async (finished: Finished): Promise<TestProxy> => {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    const status = record(request)
    if (status === 'close') return void request.socket.destroy()
    if (status !== null) return void response.writeHead(status, AUTHENTICATE).end(ECHO(request.headers))
    const { hostname, port, pathname, search } = new URL(request.url ?? '')
    const { 'proxy-authorization': _, ...headers } = request.headers
    const to = proxy.target ?? { host: hostname, port: Number(port || 80) }
    const onward = send(
      { ...to, path: `${pathname}${search}`, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      },
    )
    onward.on('error', () => response.writeHead(503).end('the proxy cannot reach it'))
    request.pipe(onward)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  })
  server.on('connect', (request, socket, head) => {
    const status = record(request)
    if (status === 'close') return void socket.destroy()
    if (status !== null) {
      return void socket.end(
        `HTTP/1.1 ${status} No\r\nProxy-Authenticate: Basic realm="test"\r\nContent-Length: 0\r\n\r\n`,
      )
    }
    const [host = '', port] = (request.url ?? '').split(':')
    const to = proxy.target ?? { host, port: Number(port) }
    const onward = connect(to.port, to.host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    sockets.add(onward)
    onward.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'))
    onward.on('close', () => sockets.delete(onward))
  })
  const record = ({ method = '', url = '', headers }: IncomingMessage): number | 'close' | null => {
    proxy.requests.push({ method, url, headers })
    const isKnown = proxy.credentials === null || headers['proxy-authorization'] === proxy.credentials
    return proxy.refusal ?? (isKnown ? null : 407)
  }
  const host = `127.0.0.1:${await listen(server)}`
  const proxy: TestProxy = { host, requests: [], refusal: null, target: null, credentials: null }
  finished(async () => {
    for (const socket of sockets) socket.destroy()
    await closeServer(server)
  })
  return proxy
}

const AUTHENTICATE = { 'proxy-authenticate': 'Basic realm="test"' }
/** An unfriendly proxy that echoes the headers that it received. */
const ECHO = (headers: object): string => `refused: ${JSON.stringify(headers)}`
