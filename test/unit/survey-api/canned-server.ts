/** A server with canned answers, for answers that no correct server gives. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CannedServer extends AsyncDisposable {
  readonly baseUrl: string
  /** Path and query of every request, in order. */
  readonly asked: readonly string[]
}

export interface Canned {
  readonly status?: number
  readonly text: string
  /** The `Date` header; null sends none. */
  readonly date?: string | null
}

export const startCannedServer = async (canned: Canned): Promise<CannedServer> => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.sendDate = false
    if (canned.date !== null) response.setHeader('date', canned.date ?? 'Sun, 01 Mar 2026 00:00:00 GMT')
    response.writeHead(canned.status ?? 200, { 'content-type': 'application/json' }).end(canned.text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
