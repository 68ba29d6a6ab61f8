/**
 * The file operations of the modules under test, in memory: below `/simulated`. Each is a step of the process. A kill happens before the
 * operation; a kill after it is a kill before the next one.
 */
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Readable } from 'node:stream'
import { never } from '../generation.js'
import type { Machine } from './machine.js'

export const MEMORY = '/simulated/'

/** In the names of temporary files. A seed repeats a night whatever they are. */
const RANDOM = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

type Call = (...given: unknown[]) => unknown

export class MemoryFiles {
  readonly #files = new Map<string, Buffer>()
  readonly #real = new Map<string, Call>()
  readonly #current: () => Machine | null

  constructor(current: () => Machine | null) {
    this.#current = current
  }

  /** Replaces the functions of `node:fs/promises` until `remove`. */
  install(): void {
    this.#replace('readFile', (path, encoding) =>
      encoding === undefined ? this.#read(path) : this.#read(path).toString('utf8'),
    )
    this.#replace('writeFile', (path, data) => this.write(path, data as Buffer | string))
    this.#replace('appendFile', (path, data) =>
      this.write(path, Buffer.concat([this.#files.get(path) ?? Buffer.alloc(0), Buffer.from(String(data))])),
    )
    this.#replace('rename', (path, target) => {
      this.write(String(target), this.#read(path))
      this.#files.delete(path)
    })
    this.#replace('rm', (path) => this.#files.delete(path))
    this.#replace('stat', (path) => ({ size: this.#read(path).length, mode: 0o644 }))
    this.#replace('chmod', () => undefined)
    this.#replace('readdir', (path) => this.#namesIn(path))
    this.#replace('open', (path) => ({
      sync: async () => undefined,
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
      createReadStream: () => Readable.from([this.#read(path)]),
      stat: async () => ({ isFile: () => true }),
      readFile: async () => this.#read(path).toString('utf8'),
    }))
    syncBuiltinESMExports()
  }

  remove(): void {
    Object.assign(promises, Object.fromEntries(this.#real))
    syncBuiltinESMExports()
  }

  write(path: string, data: Buffer | string): void {
    this.#files.set(path, Buffer.from(data))
  }

  read(path: string): Buffer | undefined {
    return this.#files.get(path)
  }

  empty(directory: string): void {
    for (const path of this.#files.keys()) if (path.startsWith(`${directory}/`)) this.#files.delete(path)
  }

  clear(): void {
    this.#files.clear()
  }

  #read(path: string): Buffer {
    const found = this.#files.get(path)
    if (found !== undefined || this.#isDirectory(path)) return found ?? Buffer.alloc(0)
    throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
  }

  #namesIn(directory: string): readonly string[] {
    const below = [...this.#files.keys()].filter((path) => path.startsWith(`${directory}/`))
    return [...new Set(below.map((path) => path.slice(directory.length + 1).split('/')[0] ?? ''))]
  }

  #isDirectory(path: string): boolean {
    return [...this.#files.keys()].some((file) => file.startsWith(`${path}/`))
  }

  #replace(name: string, act: (path: string, given: unknown) => unknown): void {
    const holder = promises as unknown as Record<string, Call>
    const real = holder[name] as Call
    this.#real.set(name, real)
    holder[name] = async (...given: unknown[]) => {
      const [path, more] = given
      if (typeof path !== 'string' || !path.startsWith(MEMORY))
        return await Reflect.apply(real, promises, given)
      const machine = this.#current()
      if (machine !== null) {
        if (!machine.step(`${name} ${path.slice(MEMORY.length).replaceAll(RANDOM, 'random')}`))
          return await never()
        await machine.settle()
      }
      return act(path, more)
    }
  }
}
