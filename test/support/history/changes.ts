/** Every change of surveys and sources, from the expected history. */
import type { Reader, Row } from '../warehouse/duckdb.js'
import type { ExpectedHistory, Version } from './expected.js'

/** The stored and the expected rows of `record_changes`, in one order. */
export const bothChanges = async (reader: Reader, { surveys, sources }: ExpectedHistory) => ({
  stored: inOrder(await reader.query('SELECT * EXCLUDE (account) FROM record_changes')),
  expected: inOrder(
    [...surveys.records, ...sources.records].flatMap(([key, versions]) => {
      const [survey_id, sample_source_id = null] = key.split('/').map(Number)
      return changesOf(versions).map((change) => ({ survey_id, sample_source_id, ...change }))
    }),
  ),
})

const inOrder = (rows: readonly Row[]): readonly Row[] =>
  rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))

const event = (kind: string, observed_at: string | null) => ({
  observed_at,
  kind,
  field: null,
  from_value: null,
  to_value: null,
})

const changesOf = (versions: readonly Version[]): readonly Row[] =>
  versions.flatMap(({ row, from, to }, place) => {
    const [before, next] = [versions[place - 1], versions[place + 1]]
    const gone = to !== null && next?.from !== to ? [event('missing', to)] : []
    if (before === undefined) return [event('added', from), ...gone]
    const back = before.to === from ? [] : [event('returned', from)]
    const changed = Object.keys(row)
      .filter((name) => name !== 'updated_at' && row[name] !== before.row[name])
      .map((field) => ({
        ...event('changed', from),
        field,
        from_value: textOf(field, before.row[field]),
        to_value: textOf(field, row[field]),
      }))
    return [...back, ...changed, ...gone]
  })

/** Times are microseconds since 1970. */
const textOf = (field: string, value: unknown): string | null => {
  if (value === null || value === undefined) return null
  if (!field.endsWith('_at')) return String(value)
  const micros = Number(value)
  const fraction = String(micros % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '')
  const text = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, 19).replace('T', ' ')
  return `${text}${fraction === '' ? '' : `.${fraction}`}+00`
}
