/** A file of which another object has much: which parts the store copies, what proves them, and what happens if it cannot. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../../src/object-store/open.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { NEVER } from '../../support/storage/bucket.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../support/storage/credentials.js'
import {
  FORBIDDEN,
  type S3Request,
  type S3ServerOptions,
  startS3Server,
} from '../../support/storage/s3-server.js'
import { some } from '../../support/suite/cases.js'

const MIB = 1_048_576
const PART = 5 * MIB

/** Parts with one byte each. The last has 1 MiB. */
const fileOf = (parts: readonly string[]): Buffer =>
  Buffer.concat(parts.map((byte, index) => Buffer.alloc(index === parts.length - 1 ? MIB : PART, byte)))

const isCopy = ({ headers }: S3Request) => headers['x-amz-copy-source'] !== undefined

/** Uploads parts `to` where the store has parts `from`. Without an endpoint in the options, the client takes the store for AWS. */
const upload = async (
  from: string,
  to: string,
  options: S3ServerOptions = {},
  { isAws = false }: { readonly isAws?: boolean } = {},
) => {
  const server = await startS3Server(onTestFinished, options)
  const { bucket, endpoint } = server
  withEnvironment(onTestFinished, {
    ...STORAGE_CREDENTIALS,
    ...(isAws ? { AWS_ENDPOINT_URL_S3: endpoint } : {}),
  })
  const given = { bucket, prefix: '', region: 'us-east-1', pathStyle: true, azure: null, attemptsMax: 2 }
  const store = await openStore({ ...given, endpoint: isAws ? null : endpoint })
  onTestFinished(() => store[Symbol.asyncDispose]())
  const before = fileOf([...from])
  server.store.write('before', before)
  const file = join(await temporaryDirectory(onTestFinished), 'file')
  const content = fileOf([...to])
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
  const outcome = await store.putIfAbsent('after', body, NEVER)
  const copies = server.requests.filter(isCopy).length
  return {
    kind: outcome.kind,
    isWhole: server.store.objects.get('after')?.body.equals(content),
    sent: sent / MIB,
    copies,
    problems,
    left: server.uploads.size,
  }
}

test('equal parts are copied, and the others are sent', async () => {
  expect(await upload('abcde', 'aBcde')).toMatchObject({
    kind: 'written',
    isWhole: true,
    sent: 5,
    problems: [],
    left: 0,
  })
  expect(await upload('abcde', 'Abcdef')).toMatchObject({
    kind: 'written',
    isWhole: true,
    sent: 5 + 5 + 1,
    problems: [],
  })
  expect(await upload('abcdef', 'Abf')).toMatchObject({
    kind: 'written',
    isWhole: true,
    sent: 5 + 1,
    problems: [],
  })
})

test('a base that is gone or whose copy is refused costs one line, and the rest is sent', async () => {
  const gone = await upload('abc', 'abc', {
    fault: (request) => (isCopy(request) ? { kind: 'refused', status: 404, code: 'NoSuchKey' } : null),
  })
  expect(gone).toMatchObject({ kind: 'written', isWhole: true, sent: 11, left: 0 })
  expect(gone.problems).toEqual([expect.stringMatching(/^s3:\/\/research: cannot write after: /)])
  const faults = [FORBIDDEN, { kind: 'refused', status: 501, code: 'NotImplemented' } as const]
  for (const fault of some(faults, 1)) {
    const { copies, problems, ...rest } = await upload('abcdefgh', 'abcdefgh', {
      fault: (request) => (isCopy(request) ? fault : null),
    })
    expect(rest).toMatchObject({ kind: 'written', isWhole: true, sent: 36 })
    expect(problems).toHaveLength(1)
    // Those that were under way, each sent twice at most.
    expect(copies).toBeLessThanOrEqual(6)
  }
})

test('a copy with other bytes than the file does not count', async () => {
  const wrong = await upload('abcd', 'abcd', { copied: (part) => Buffer.alloc(part.length, 'x') })
  expect(wrong).toMatchObject({ kind: 'written', isWhole: true, sent: 16 })
  const cut = await upload('abcd', 'abcd', { copied: (part) => part.subarray(0, 1) })
  expect(cut).toMatchObject({ kind: 'written', isWhole: true, sent: 16 })
})

test('a store whose ETags prove nothing gets everything, and is not asked for the rest', async () => {
  const { problems, copies, ...rest } = await upload('abcdefgh', 'abcdefgh', { hasKey: true })
  expect(rest).toMatchObject({ kind: 'written', isWhole: true, sent: 36 })
  expect(problems).toEqual(['the store gives no checksum of a part'])
  expect(copies).toBeLessThanOrEqual(5)
})

test('AWS proves parts by SHA-256, also with a key of KMS', async () => {
  expect(await upload('abcde', 'aBcde', { hasKey: true }, { isAws: true })).toMatchObject({
    kind: 'written',
    isWhole: true,
    sent: 5,
    problems: [],
  })
  const wrong = await upload(
    'abcd',
    'abcd',
    { hasKey: true, copied: (part) => Buffer.alloc(part.length, 'x') },
    { isAws: true },
  )
  expect(wrong).toMatchObject({ kind: 'written', isWhole: true, sent: 16 })
})
