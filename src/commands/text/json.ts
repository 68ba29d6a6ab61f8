/** A document for machines: names in snake_case, moments in ISO 8601, on one line, nothing left out. */
import { snakeCase } from '../../base/snake-case.js'
import { formatInstant } from '../../model/instant.js'

/** Bigints are moments wherever we print them. */
export const jsonOf = (document: object): string =>
  JSON.stringify(document, (_key, value: unknown) => {
    if (typeof value === 'bigint') return formatInstant(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, part]) =>
        [snakeCase(name), FORMER_NAMES.get(name)].flatMap((key) => (key === undefined ? [] : [[key, part]])),
      ),
    )
  })

/** Names that fields had before: until version 0.2 they stand beside the new ones. */
const FORMER_NAMES: ReadonlyMap<string, string> = new Map([['requestUsage', 'spending']])
