/** Parses the file of dbt sources. */
import { parse } from 'yaml'
import { z } from 'zod'

const dataTests = z.array(z.union([z.string(), z.record(z.string(), z.unknown())])).default([])

const sources = z.object({
  version: z.literal(2),
  sources: z.array(
    z.object({
      name: z.string(),
      database: z.string(),
      schema: z.string(),
      tables: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
          config: z.unknown().optional(),
          data_tests: dataTests,
          columns: z.array(
            z.object({
              name: z.string(),
              description: z.string(),
              data_type: z.string(),
              data_tests: dataTests,
            }),
          ),
        }),
      ),
    }),
  ),
})

export type DbtTable = z.output<typeof sources>['sources'][number]['tables'][number]

export const dbtTables = (yaml: string): ReadonlyMap<string, DbtTable> =>
  new Map(
    sources
      .parse(parse(yaml))
      .sources.flatMap(({ schema, tables }) =>
        tables.map((table) => [`${schema}.${table.name}`, table] as const),
      ),
  )
