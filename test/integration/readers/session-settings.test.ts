import { expect, test } from 'vitest'
import { sqlOf } from '../../../src/publish/report/queries/query.js'
import { ALL_QUERIES } from '../../../src/publish/report/read.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { QUERIES, queriesOfOtherPages, viewsBeside } from '../docs/queries.js'
import { inThisWorld } from './session-settings-shared.js'

const toCopy: readonly (readonly [title: string, sql: string])[] = [
  ...[...QUERIES].map(([title, sql]) => [`queries.md, ${title}`, sql] as const),
  ...ALL_QUERIES.map((query) => [`report.md, ${query.title}`, sqlOf(query)] as const),
  // A page about the schema shows no rows of ours.
  ...queriesOfOtherPages()
    .filter(([, sql]) => !/duckdb_columns/.test(sql))
    .map(([page, sql], at) => [`${page}, ${at}`, inThisWorld(sql)] as const),
]
const queries: Readonly<Record<string, string>> = Object.fromEntries([
  ...viewsBeside(toCopy.map(([, sql]) => sql)).map(({ name }) => [
    `view ${name}`,
    `SELECT * FROM main.${name}`,
  ]),
  ...toCopy,
])

/** What follows each `ORDER BY` up to the end of its list, without what is inside parentheses. */
const orderKeys = (sql: string): readonly string[] => {
  const keys = []
  for (const { index } of sql.matchAll(/\bORDER BY /g)) {
    let depth = 0
    let list = ''
    for (const letter of sql.slice(index + 'ORDER BY '.length)) {
      if ('([{'.includes(letter)) depth += 1
      if (')]}'.includes(letter)) depth -= 1
      if (depth < 0 || letter === ';') break
      if (depth === 0) list += letter
    }
    keys.push(...list.replace(/\s+(LIMIT|\)).*$/s, '').split(','))
  }
  return keys.map((key) => key.trim())
}

test('SQL for readers leaves nothing to the settings of a session that it can say itself', () => {
  const statements = [...Object.entries(queries), ...ALL_VIEWS.map(({ name, sql }) => [name, sql] as const)]
  for (const [title, sql] of statements) {
    expect(
      orderKeys(sql).filter((key) => !/ (ASC|DESC)( NULLS (FIRST|LAST))?$/.test(key)),
      `${title}: say ASC or DESC`,
    ).toEqual([])
    // They count in the time zone and the calendar of the session. Compare `epoch_us(…)`, and subtract `make_timestamp(epoch_us(…))`.
    expect(sql, title).not.toMatch(
      /\bINTERVAL\b|\bAT TIME ZONE\b|\b(date_(diff|sub|part|trunc|add)|datediff|extract|strftime|age|to_(hours|days))\(/i,
    )
  }
})
