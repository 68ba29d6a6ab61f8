/** Reading a body yields text, `too_large` or `invalid`, for any bytes in any encoding, cut anywhere. */
import { createServer } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { Agent } from 'undici'
import { expect, test } from 'vitest'
import { createRedactor, Secret } from '../../../src/base/secret.js'
import { decompress } from '../../../src/http/decompress.js'
import { type BodyText, excerptOf, isUtf8, readText, receive } from '../../../src/http/receive.js'
import { redactJson } from '../../../src/http/redact-json.js'
import { anyText } from '../../support/hostile/any-text.js'
import { anyNode, print } from '../../support/hostile/json-node.js'
import { closeServer, listen } from '../../support/servers/server.js'
import { cases } from '../../support/suite/cases.js'

const BYTES_MAX = 2_000

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 400 }).map((all) => Buffer.from(all)),
  fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => Buffer.from(text)),
  // Whole characters, including U+FFFD itself, mixed with incomplete ones.
  fc
    .array(fc.constantFrom(...'61 efbfbd e282ac f09f9880 ff c1a1 e282 eda080 f09f98 ef bf'.split(' ')))
    .map((all) => Buffer.from(all.join(''), 'hex')),
  fc
    .constantFrom('\ufeff{"a":1}', '\0'.repeat(BYTES_MAX), '\0'.repeat(BYTES_MAX + 1), '')
    .map((text) => Buffer.from(text)),
  anyNode.map((node) => Buffer.from(print(node))),
)
const CODINGS: ReadonlyMap<string, (bytes: Buffer) => Buffer> = new Map([
  ['', (plain: Buffer) => plain],
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
])
const encoded = (coding: string, plain: Buffer): Buffer => CODINGS.get(coding)?.(plain) ?? plain

/** The bytes that are sent: compressed or not, cut, with one byte changed, or with a suffix. */
const sentBody = fc
  .record({
    bytes,
    coding: fc.constantFrom(...CODINGS.keys()),
    cutAt: fc.option(fc.nat({ max: 600 }), { freq: 3 }),
    changedAt: fc.option(fc.nat({ max: 600 }), { freq: 3 }),
    suffix: fc.constantFrom('', '', '', 'x', '\0\0'),
  })
  .map((one) => {
    const whole = Buffer.concat([encoded(one.coding, one.bytes), Buffer.from(one.suffix)])
    const all = Buffer.from(whole.subarray(0, one.cutAt ?? whole.length))
    if (one.changedAt !== null && all.length > 0)
      all.writeUInt8((all.readUInt8(one.changedAt % all.length) + 1) % 256, one.changedAt % all.length)
    return { ...one, all, isIntact: one.cutAt === null && one.changedAt === null && one.suffix === '' }
  })
const USUAL = ['', 'gzip', 'x-gzip', ' GZIP ', 'br', 'Deflate', 'identity', 'none, UTF-8', 'identity,, gzip']
const encoding = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...USUAL) },
  fc.constantFrom('gzip, gzip', 'zstd', '__proto__', 'constructor', 'toString'),
  fc.string({ maxLength: 8 }),
)

/** The expected text of an intact body in the declared encoding: every character, with each invalid piece marked. */
const expectedOf = (body: Buffer): BodyText => {
  if (body.length > BYTES_MAX) return { kind: 'too_large' }
  return { kind: 'text', text: slowlyDecoded(body).replace(/^\ufeff/, '') }
}

/** Decodes byte by byte: each position begins a character or an invalid piece. */
const slowlyDecoded = (body: Buffer): string => {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true })
  let text = ''
  for (let at = 0; at < body.length; ) {
    const lengths = [1, 2, 3, 4].filter((length) => at + length <= body.length)
    const valid = lengths.find((length) => decodes(strict, body.subarray(at, at + length)))
    if (valid !== undefined) {
      text += body.toString('utf8', at, at + valid)
      at += valid
      continue
    }
    // Several bytes become one replacement character only if they are the beginning of a character.
    const invalid = lengths.findLast((length) => lenient.decode(body.subarray(at, at + length)) === '\ufffd')
    text += '\udfff'
    at += invalid ?? 1
  }
  return text
}

const decodes = (decoder: TextDecoder, bytes: Uint8Array): boolean => {
  try {
    return decoder.decode(bytes) !== ''
  } catch {
    return false
  }
}

test('a body is text, or reported as too large or invalid', async () => {
  let answer = { coding: '', bytes: Buffer.alloc(0) }
  const server = createServer((_, response) =>
    response.setHeader('content-encoding', answer.coding).end(answer.bytes),
  )
  const origin = `http://127.0.0.1:${await listen(server)}`
  const agent = new Agent()
  const dispatcher = decompress(agent)
  const { signal } = new AbortController()
  await fc.assert(
    fc.asyncProperty(sentBody, encoding, async (body, coding) => {
      answer = { coding, bytes: body.all }
      using received = await receive(dispatcher, { origin, path: '/', method: 'GET' }, signal)
      const read = await readText(received, BYTES_MAX)
      const codings = coding.toLowerCase().split(/[\s,]+/)
      const changing = codings.filter((one) => !['', 'identity', 'none', 'utf-8'].includes(one))
      const known = changing.map((one) => one.replace('x-gzip', 'gzip'))
      if (read.kind === 'text') expect(Buffer.byteLength(read.text)).toBeLessThanOrEqual(BYTES_MAX)
      if (read.kind === 'invalid') expect(read.problem).toMatch(/^it [ -~]+$/)
      if (!known.every((one) => CODINGS.has(one))) expect(read.kind).toBe('invalid')
      if (!body.isIntact || known.join() !== body.coding) return
      expect(read).toEqual(expectedOf(body.bytes))
      if (read.kind === 'text')
        expect(isUtf8(read.text)).toBe(Buffer.from(body.bytes.toString()).equals(body.bytes))
    }),
    cases(120),
  )
  await agent.destroy()
  await closeServer(server)
})

test('an excerpt of a body is one short line without the secret', () => {
  const secret = 'tok-7f3a/secret'
  const redact = createRedactor([new Secret(secret)])
  const text = fc.array(
    fc.oneof(
      anyText({ maxLength: 30 }),
      fc.constantFrom(secret, '\n', '\u001b[2J', '\u2028', 'x'.repeat(190)),
    ),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(text, (pieces) => {
      const excerpt = excerptOf(pieces.join(''), redact)
      expect(excerpt).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(excerpt).not.toContain(secret)
      expect(excerpt.length).toBeLessThanOrEqual(201)
      expect(excerpt).toBe(Buffer.from(excerpt).toString())
      const inUtf16 = excerptOf(Buffer.from(pieces.join(''), 'utf16le').toString(), redact, 1_000)
      expect(inUtf16.replaceAll(' ', '')).not.toContain(secret)
    }),
    cases(200),
  )
})

test('redacting JSON removes the secret and keeps all other text', () => {
  const secret = 'a"\\/12345'
  const redact = createRedactor([new Secret(secret)])
  fc.assert(
    fc.property(anyNode, fc.boolean(), fc.boolean(), (node, echoes, escaped) => {
      const echo = { kind: 'string', value: `<${secret}>`, escaped } as const
      const plain = print(node)
      const text = echoes ? `{"before":${plain},"echo":${print(echo)},"after":${plain}}` : plain
      const safe = redactJson(text, redact)
      expect(safe).toBe(echoes ? `{"before":${plain},"echo":"<[redacted]>","after":${plain}}` : plain)
    }),
    cases(200),
  )
})
