/** The page of the reference server agrees with the code, and the examples run. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ACTION_KEYS, FAULT_KEYS, MATCH_KEYS } from '../../../src/reference-server/faults/declaration.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${root}docs/reference/reference-server.md`, 'utf8')

const between = (start: string, end: string): string => page.split(start)[1]?.split(end)[0] ?? ''

test('the page names every key and action of a fault', () => {
  const faults = between('## Faults', '## The cap')
  const keys = [...FAULT_KEYS, ...MATCH_KEYS.map((key) => `match.${key}`), ...ACTION_KEYS]
  expect(keys.filter((key) => key !== 'match' && !new RegExp(`[\`{ ]${key}[\`:]`).test(faults))).toEqual([])
})
