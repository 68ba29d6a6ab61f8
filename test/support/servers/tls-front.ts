/** Accepts TLS on its own port and forwards to a plain server of the test. */
import { connect, type Socket } from 'node:net'
import { createServer } from 'node:tls'
import type { Finished } from '../files/temporary.js'
import type { Certificates } from './certificates.js'
import { listen } from './server.js'

/** Returns the port. */
export const startTlsFront = async (
  plainUrl: string,
  { key, cert }: Certificates,
  finished: Finished,
): Promise<number> => {
  const { hostname, port } = new URL(plainUrl)
  const sockets = new Set<Socket>()
  const server = createServer({ key, cert }, (socket) => {
    const onward = connect(Number(port), hostname)
    socket.on('error', () => onward.destroy())
    onward.on('error', () => socket.destroy())
    onward.pipe(socket).pipe(onward)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => undefined)
  finished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return await listen(server)
}
