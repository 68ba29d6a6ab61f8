/** The documents of `--json`: all fields on one line, with names in snake_case and instants in ISO 8601. */
import { snakeCase } from '../../base/snake-case.js'
import { formatInstant } from '../../model/instant.js'

/** Every bigint of a document is an instant. */
export const jsonOf = (document: object): string =>
  JSON.stringify(document, (_key, value: unknown) => {
    if (typeof value === 'bigint') return formatInstant(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [snakeCase(name), part]))
  })
