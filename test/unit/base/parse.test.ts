/** No message of the command is the first line of a schema error. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { parse } from '../../../src/base/parse.js'

const row = z.object({ rate: z.number(), counts: z.array(z.int()) })

test('a value that fits is returned', () => {
  expect(parse(row, { rate: 0.5, counts: [1] }, 'a row')).toEqual({ rate: 0.5, counts: [1] })
})

test('a value that does not fit is named in one line, with its first problem', () => {
  const wrong = () => parse(row, { rate: Number.POSITIVE_INFINITY, counts: [1, 1.5] }, 'a row')
  expect(wrong).toThrow(TypeError)
  expect(wrong).toThrow(
    /^a row has an unexpected form: rate: Invalid input: expected number.* \(and 1 more\)$/,
  )
})

test('a name with line breaks stays in the line', () => {
  const wrong = () => parse(z.record(z.string(), z.string()), { 'a\nb': 1 }, 'a row')
  expect(wrong).toThrow(/^a row has an unexpected form: a b: [^\n]*$/)
})

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url))

test('no schema throws its own error: in src, only base/parse.ts makes a message of one', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  const throwing = files.filter((name) =>
    /(?<!JSON|Date|parser)\.(?:parse|parseAsync)\(/.test(readFileSync(join(SRC, name), 'utf8')),
  )
  expect(throwing).toEqual([])
  expect(files.length).toBeGreaterThan(300)
})
