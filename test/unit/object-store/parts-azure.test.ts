/** A blob of which another one has much: how the source of a block is read with each credential, and what happens if it cannot be. */
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { AzureAccount } from '../../../src/base/network.js'
import { Secret } from '../../../src/base/secret.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { listen } from '../../support/servers/server.js'
import { openAzure } from '../../support/storage/azurite.js'
import { NEVER } from '../../support/storage/bucket.js'

const MIB = 1_048_576
const KEY = Buffer.from('the key of the account').toString('base64')
const SAS = 'sv=2026-01-01&sig=c2lnbmF0dXJl'

/** Blocks of 1 MiB with one byte each. */
const fileOf = (blocks: string): Buffer => Buffer.concat([...blocks].map((byte) => Buffer.alloc(MIB, byte)))

/** Uploads blocks `to` where the store has blocks `from`. `refusal` answers the requests that copy a block. */
const upload = async (
  from: string,
  to: string,
  credential: Partial<AzureAccount> = {},
  refusal: { readonly status: number; readonly code: string } | null = null,
) => {
  const [before, content] = [fileOf(from), fileOf(to)]
  const blocks = new Map<string, Buffer>()
  const sources: URL[] = []
  let stored = Buffer.alloc(0)
  const answer = async (request: IncomingMessage): Promise<string | null> => {
    const body = Buffer.concat(await request.toArray())
    const { searchParams: query } = new URL(request.url ?? '', 'http://azure')
    const id = query.get('blockid') ?? ''
    const source = request.headers['x-ms-copy-source']
    if (query.get('comp') === 'blocklist') {
      const ids = [...String(body).matchAll(/<Latest>(.*?)<\/Latest>/g)].map(([, one = '']) => one)
      stored = Buffer.concat(ids.map((one) => blocks.get(one) ?? Buffer.alloc(0)))
    } else if (source === undefined) blocks.set(id, body)
    else {
      sources.push(new URL(String(source)))
      if (refusal !== null) return refusal.code
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(request.headers['x-ms-source-range'])) ?? []
      const block = before.subarray(Number(first), Number(last) + 1)
      const md5 = createHash('md5').update(block).digest('base64')
      if (md5 !== request.headers['x-ms-source-content-md5']) return 'Md5Mismatch'
      blocks.set(id, block)
    }
    return null
  }
  const server = createServer((request, response) => {
    void answer(request).then((code) => {
      if (code === null) response.writeHead(201, { etag: '"1"' }).end()
      else response.writeHead(refusal?.status ?? 400, { 'x-ms-error-code': code }).end()
    })
  })
  const blobs = `http://127.0.0.1:${await listen(server, onTestFinished)}/acme`
  const account = { account: 'acme', blobs, key: new Secret(KEY), sas: null, ...credential }
  const store = await openAzure(onTestFinished, account, { bucket: 'research', attemptsMax: 1 })
  const file = join(await temporaryDirectory(onTestFinished), 'file')
  await writeFile(file, content)
  const problems: string[] = []
  let sent = 0
  const body = {
    file,
    onSent: (bytes: number) => {
      sent += bytes
    },
    base: {
      copyOf: 'before',
      bytes: before.length,
      onRefused: (problem: string) => void problems.push(problem),
    },
  }
  const { kind } = await store.putIfAbsent('after', body, NEVER)
  return { kind, isWhole: stored.equals(content), sent: sent / MIB, problems, sources }
}

test('equal blocks are copied, with a right to read the source for a while', async () => {
  const { sources, ...rest } = await upload('abcdefghij', 'aBcdefghijk')
  expect(rest).toEqual({ kind: 'written', isWhole: true, sent: 2, problems: [] })
  expect(sources[0]?.pathname).toBe('/acme/research/field/work/before')
  expect(Object.fromEntries(sources[0]?.searchParams ?? [])).toMatchObject({
    sp: 'r',
    sr: 'b',
    sig: expect.any(String),
  })
})

test('a shared access signature also reads the source', async () => {
  const { sources, ...rest } = await upload('abcdefghij', 'aBcdefghij', { key: null, sas: new Secret(SAS) })
  expect(rest).toEqual({ kind: 'written', isWhole: true, sent: 1, problems: [] })
  expect(sources[0]?.search).toBe(`?${SAS}`)
})

test('a source that the store may not read costs one line, and the rest is sent', async () => {
  for (const refusal of [
    { status: 403, code: 'CannotVerifyCopySource' },
    { status: 404, code: 'CannotVerifyCopySource' },
    { status: 501, code: 'APINotImplemented' },
  ]) {
    const { sources, problems, ...rest } = await upload('abcdefghij', 'abcdefghij', {}, refusal)
    expect(rest).toEqual({ kind: 'written', isWhole: true, sent: 10 })
    expect(problems).toEqual([expect.stringMatching(/^az:\/\/research\/field\/work: cannot write after: /)])
    expect(problems.join()).not.toContain('sig=')
    expect(sources.length).toBeLessThanOrEqual(3)
  }
})
