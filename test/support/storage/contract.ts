/** What every object store must do, whatever is behind it. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { listAll, type ObjectStore, type PutOutcome } from '../../../src/object-store/object-store.js'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { NEVER } from './bucket.js'

const MIB = 1_048_576

export const keysOf = async (store: ObjectStore, prefix: string): Promise<readonly string[]> =>
  (await listAll(store, prefix, NEVER)).map(({ key }) => key)

export const textOf = async (store: ObjectStore, key: string): Promise<string | null> => {
  const found = await store.get(key, NEVER)
  return found === null ? null : Buffer.from(found.body).toString()
}

const etagOf = (outcome: PutOutcome): string => (outcome.kind === 'written' ? outcome.etag : 'lost')

const bytesOf = (length: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / MIB) }, (_, index) => Buffer.alloc(MIB, index)),
    length,
  )

const ODD_KEYS = [
  'data/surveys/account=a%20b/created_month=2026-01/v1.parquet',
  'account=a%20b/ü%1=x',
  'a b+c&d<e>"f\'g',
  'emoji-😀/ｘ',
  'tilde~(paren)!*@:,;$',
]

interface ContractOptions {
  /** An empty store. */
  readonly open: (finished: Finished) => Promise<ObjectStore>
  /** Puts an object behind the client that was opened last: a thousand requests would take longer than all other tests. */
  readonly write?: (key: string, body: string) => unknown
  readonly writersAtOnce: number
  /** Names of tests that a store is known to fail: they must fail. */
  readonly lacks?: readonly string[]
}

export const objectStoreContract = ({ open, write, writersAtOnce, lacks = [] }: ContractOptions): void => {
  /** A test with an empty store, and a directory for files. */
  const it = (name: string, work: (store: ObjectStore, directory: string) => Promise<void>): void => {
    const run = lacks.includes(name) ? test.fails : test
    run(name, async ({ onTestFinished }) => {
      const directory = await temporaryDirectory(onTestFinished)
      await work(await open(onTestFinished), directory)
    })
  }

  it('an object that was put is got, with its ETag and its age', async (store) => {
    const outcome = await store.putIfAbsent('a/one.json', Buffer.from('{"a":1}'), NEVER)
    expect(outcome.kind).toBe('written')
    const found = await store.get('a/one.json', NEVER)
    expect(Buffer.from(found?.body ?? []).toString()).toBe('{"a":1}')
    expect(found?.etag).toBe(etagOf(outcome))
    expect(found?.ageMs).toBeGreaterThanOrEqual(0)
    expect(found?.ageMs).toBeLessThan(60_000)
  })

  it('a missing object is null, in no list, and no error to delete', async (store, directory) => {
    const path = join(directory, 'file')
    expect(await store.get('missing', NEVER)).toBeNull()
    expect(await store.getToFile('missing', path, NEVER)).toBe(false)
    await expect(stat(path)).rejects.toThrow('ENOENT')
    await store.delete(['missing', 'missing/too'], NEVER)
    expect(await keysOf(store, '')).toEqual([])
  })

  it('an empty object is an object', async (store, directory) => {
    await writeFile(join(directory, 'empty'), '')
    expect((await store.putIfAbsent('empty', { file: join(directory, 'empty') }, NEVER)).kind).toBe('written')
    expect((await store.get('empty', NEVER))?.body).toHaveLength(0)
    expect(await store.getToFile('empty', join(directory, 'got'), NEVER)).toBe(true)
    expect((await stat(join(directory, 'got'))).size).toBe(0)
  })

  it('conditions hold: absent once, a match with the current ETag only', async (store) => {
    const first = await store.putIfAbsent('current.json', Buffer.from('one'), NEVER)
    const lost = { kind: 'lost' }
    expect(await store.putIfAbsent('current.json', Buffer.from('two'), NEVER)).toEqual(lost)
    const second = await store.putIfMatch('current.json', Buffer.from('three'), etagOf(first), NEVER)
    expect(second.kind).toBe('written')
    expect(await store.putIfMatch('current.json', Buffer.from('four'), etagOf(first), NEVER)).toEqual(lost)
    expect(await store.putIfMatch('missing', Buffer.from('five'), etagOf(first), NEVER)).toEqual(lost)
    expect(await textOf(store, 'current.json')).toBe('three')
    expect(await store.get('missing', NEVER)).toBeNull()
  })

  it('of many writers at once, one wins, whether by absence or by a match', async (store) => {
    const race = async (write: (body: Uint8Array) => Promise<PutOutcome>) => {
      const outcomes = await Promise.all(
        Array.from({ length: writersAtOnce }, (_, index) => write(Buffer.from(`writer ${index}`))),
      )
      const winners = outcomes.flatMap(({ kind }, index) => (kind === 'written' ? [`writer ${index}`] : []))
      expect(winners).toHaveLength(1)
      expect(await textOf(store, 'race')).toBe(winners[0])
      return outcomes.find(({ kind }) => kind === 'written') ?? { kind: 'lost' }
    }
    const first = await race((body) => store.putIfAbsent('race', body, NEVER))
    await race((body) => store.putIfMatch('race', body, etagOf(first), NEVER))
  })

  it('odd keys survive: put, listed in the order of their bytes, got and deleted', async (store) => {
    for (const key of ODD_KEYS) await store.putIfAbsent(`odd/${key}`, Buffer.from(key), NEVER)
    const inOrder = ODD_KEYS.map((key) => `odd/${key}`).sort((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    )
    expect(await keysOf(store, 'odd/')).toEqual(inOrder)
    expect(await keysOf(store, 'odd/account=a%20b/')).toEqual(['odd/account=a%20b/ü%1=x'])
    for (const key of ODD_KEYS) expect(await textOf(store, `odd/${key}`)).toBe(key)
    await store.delete(inOrder, NEVER)
    expect(await keysOf(store, '')).toEqual([])
  })

  it('1,001 objects are listed over two pages and deleted in two requests', async (store) => {
    const keys = Array.from({ length: 1_001 }, (_, index) => `many/${String(index).padStart(4, '0')}`)
    const put = (key: string) => write?.(key, 'x') ?? store.putIfAbsent(key, Buffer.from('x'), NEVER)
    for (let from = 0; from < keys.length; from += 50) await Promise.all(keys.slice(from, from + 50).map(put))
    await store.putIfAbsent('other', Buffer.from('stays'), NEVER)
    expect(await keysOf(store, 'many/')).toEqual(keys)
    expect(await keysOf(store, 'many/09')).toHaveLength(100)
    const [first] = await listAll(store, 'many/', NEVER)
    expect(first?.bytes).toBe(1)
    expect(first?.etag).toBe((await store.get('many/0000', NEVER))?.etag)
    expect(first?.ageMs).toBeGreaterThanOrEqual(0)
    await store.delete(keys, NEVER)
    expect(await keysOf(store, '')).toEqual(['other'])
  })

  it('a large file arrives whole, and is got into a new file only', async (store, directory) => {
    const [sent, other, got] = [join(directory, 'sent'), join(directory, 'other'), join(directory, 'got')]
    // Two parts of S3, and three.
    const content = bytesOf(8 * MIB + 17)
    await writeFile(sent, content)
    await writeFile(other, bytesOf(8 * MIB + 1))
    const parts: number[] = []
    const body = { file: sent, onSent: (bytes: number) => void parts.push(bytes) }
    const written = await store.putIfAbsent('large', body, NEVER)
    expect(written.kind).toBe('written')
    expect(parts.reduce((sum, bytes) => sum + bytes)).toBe(content.length)
    expect(await store.getToFile('large', got, NEVER)).toBe(true)
    expect((await readFile(got)).equals(content)).toBe(true)
    await writeFile(got, 'somebody else’s')
    await expect(store.getToFile('large', got, NEVER)).rejects.toThrow('EEXIST')
    expect(await readFile(got, 'utf8')).toBe('somebody else’s')
    expect(await store.putIfAbsent('large', { file: other }, NEVER)).toEqual({ kind: 'lost' })
    expect(await store.putIfMatch('large', { file: other }, '"other"', NEVER)).toEqual({ kind: 'lost' })
    expect((await store.putIfMatch('large', { file: other }, etagOf(written), NEVER)).kind).toBe('written')
  })

  it('of a file of which another object has much, only the rest is sent', async (store, directory) => {
    const [sent, got] = [join(directory, 'sent'), join(directory, 'got')]
    const before = bytesOf(16 * MIB)
    await writeFile(sent, before)
    await store.putIfAbsent('before', { file: sent }, NEVER)
    const content = Buffer.concat([before, bytesOf(MIB)])
    content.write('changed', 7 * MIB)
    await writeFile(sent, content)
    const problems: string[] = []
    const base = { bytes: before.length, onRefused: (problem: string) => void problems.push(problem) }
    for (const [key, copyOf] of [
      ['large', 'before'],
      ['larger', 'missing'],
    ] as const) {
      let bytes = 0
      const onSent = (partBytes: number) => {
        bytes += partBytes
      }
      const body = { file: sent, onSent, base: { ...base, copyOf } }
      expect((await store.putIfAbsent(key, body, NEVER)).kind).toBe('written')
      await rm(got, { force: true })
      expect(await store.getToFile(key, got, NEVER)).toBe(true)
      expect((await readFile(got)).equals(content)).toBe(true)
      if (copyOf === 'missing') expect([bytes, problems.length]).toEqual([content.length, 1])
      else {
        expect(problems).toEqual([])
        expect(bytes).toBeLessThan(content.length)
      }
    }
  })

  it('an object is copied whole, under the same conditions', async (store, directory) => {
    const [sent, got] = [join(directory, 'sent'), join(directory, 'got')]
    const content = bytesOf(8 * MIB + 17)
    await writeFile(sent, content)
    const key = `odd/${ODD_KEYS[0]}`
    await store.putIfAbsent(key, { file: sent }, NEVER)
    await store.putIfAbsent('small', Buffer.from('small'), NEVER)
    const [large, small] = [
      { copyOf: key, bytes: content.length },
      { copyOf: 'small', bytes: 5 },
    ]
    const first = await store.putIfAbsent('copy', small, NEVER)
    expect(first.kind).toBe('written')
    const [listed] = await listAll(store, 'copy', NEVER)
    expect(listed).toMatchObject({ bytes: 5, etag: etagOf(first) })
    expect(await store.putIfAbsent('copy', large, NEVER)).toEqual({ kind: 'lost' })
    expect(await store.putIfMatch('copy', large, '"other"', NEVER)).toEqual({ kind: 'lost' })
    expect(await textOf(store, 'copy')).toBe('small')
    const second = await store.putIfMatch('copy', large, etagOf(first), NEVER)
    expect(second.kind).toBe('written')
    expect(await store.putIfMatch('copy', small, etagOf(first), NEVER)).toEqual({ kind: 'lost' })
    expect(await store.getToFile('copy', got, NEVER)).toBe(true)
    expect((await readFile(got)).equals(content)).toBe(true)
    await expect(store.putIfAbsent('other', { copyOf: 'missing', bytes: 5 }, NEVER)).rejects.toThrow('cannot')
    expect(await keysOf(store, 'other')).toEqual([])
  })

  it('an aborted signal rejects every verb with its reason', async (store, directory) => {
    const path = join(directory, 'file')
    const reason = new StoppedError('the test stops')
    const signal = AbortSignal.abort(reason)
    const body = Buffer.from('x')
    const listed = async () => {
      for await (const _ of store.list('', signal)) return
    }
    const ends = await Promise.allSettled([
      store.get('a', signal),
      store.getToFile('a', path, signal),
      store.putIfAbsent('a', body, signal),
      store.putIfMatch('a', body, '"1"', signal),
      store.delete(['a'], signal),
      listed(),
    ])
    expect(ends).toEqual(Array.from({ length: 6 }, () => ({ status: 'rejected', reason })))
    expect(await keysOf(store, '')).toEqual([])
  })
}
