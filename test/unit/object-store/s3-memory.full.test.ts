/** A file of any size is sent and got in little memory, and the SDK prints nothing. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { open, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Finished, temporaryDirectory } from '../../support/files/temporary.js'
import { STORAGE_CREDENTIALS } from '../../support/storage/credentials.js'

const MIB = 1_048_576
const FILE_BYTES = 2_048 * MIB
/** Over the memory of the same process after a small object. */
const GROWTH_BYTES_MAX = 64 * MIB

/** A store that counts the bytes of parts and keeps none of them. It sends zeros. */
const startSink = async (finished: Finished) => {
  const received = { bytes: 0 }
  const server = createServer(async (request, response) => {
    const url = request.url ?? ''
    for await (const chunk of request) if (url.includes('partNumber')) received.bytes += chunk.length
    response.setHeader('etag', '"1"')
    if (url.includes('uploads'))
      response.end('<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>')
    else if (request.method === 'POST')
      response.end('<CompleteMultipartUploadResult><ETag>"2"</ETag></CompleteMultipartUploadResult>')
    else if (request.method === 'GET') {
      response.setHeader('content-length', FILE_BYTES)
      const zeros = Buffer.alloc(MIB)
      for (let sent = 0; sent < FILE_BYTES; sent += MIB)
        if (!response.write(zeros)) await once(response, 'drain')
      response.end()
    } else response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  finished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { endpoint: `http://127.0.0.1:${address.port}`, received }
}

test(`a file of ${FILE_BYTES / MIB} MiB is sent and got in 64 MiB of memory, without a line on stderr`, async ({
  onTestFinished,
}) => {
  const directory = await temporaryDirectory(onTestFinished)
  const { endpoint, received } = await startSink(onTestFinished)
  const [sent, got] = [join(directory, 'sent'), join(directory, 'got')]
  const file = await open(sent, 'w')
  await file.truncate(FILE_BYTES)
  await file.close()
  const script = fileURLToPath(new URL('transfer.mjs', import.meta.url))
  const module = new URL('../../../dist/object-store/open.js', import.meta.url).href
  const options = { bucket: 'research', prefix: '', endpoint, region: null, pathStyle: true, azure: null }
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [script, module, JSON.stringify(options), sent, got],
    { env: { PATH: process.env.PATH, ...STORAGE_CREDENTIALS } },
  )
  expect(stderr).toBe('')
  const { putBytes, getBytes, ...rest } = JSON.parse(stdout)
  expect(rest).toEqual({ kind: 'written', isThere: true })
  expect(received.bytes).toBe(FILE_BYTES)
  expect((await stat(got)).size).toBe(FILE_BYTES)
  expect(putBytes).toBeLessThan(GROWTH_BYTES_MAX)
  expect(getBytes).toBeLessThan(GROWTH_BYTES_MAX)
})
