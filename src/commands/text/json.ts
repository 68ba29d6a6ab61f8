/** A document for machines: names in snake_case, moments in ISO 8601, on one line. */
import { formatInstant } from '../../model/instant.js'

/** Bigints are moments wherever we print them. */
export const jsonOf = (document: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(document, (_key, value: unknown) =>
    typeof value === 'bigint' ? formatInstant(value) : value,
  )
