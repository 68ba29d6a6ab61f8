/** P3, for readers of Delta: after a publish each log holds the files that the manifest names. */
import { z } from 'zod'
import type { BucketManifest } from '../../../src/publish/bucket/documents.js'
import type { ModelStore } from '../../support/storage/model-store.js'
import type { Violation } from './row-text.js'

const line = z.object({
  add: z.object({ path: z.string() }).optional(),
  remove: z.object({ path: z.string() }).optional(),
})

export const checkDelta = ({ objects }: ModelStore, { tables }: BucketManifest): Violation[] =>
  tables.flatMap(({ schema, name, files }): Violation[] => {
    const directory = schema === 'main' ? `data/${name}` : `data/${schema}/${name}`
    const isCommit = (key: string) =>
      key.startsWith(`${directory}/_delta_log/`) && /\/\d{20}\.json$/.test(key)
    const commits = [...objects.keys()].filter(isCommit).toSorted()
    // Clean-up has removed the first commits. Foreign readers test checkpoints.
    if (commits[0] !== undefined && !commits[0].endsWith(`${'0'.repeat(20)}.json`)) return []
    const present = new Set<string>()
    for (const text of commits.flatMap((key) => objects.get(key)?.body.toString().trim().split('\n') ?? [])) {
      const { add, remove } = line.parse(JSON.parse(text))
      if (remove !== undefined) present.delete(remove.path)
      if (add !== undefined) present.add(add.path)
    }
    const published = files.filter(({ rows }) => rows > 0).map(({ path }) => path)
    const shown = [...present].map((path) => `${directory}/${decodeURI(path)}`)
    return shown.toSorted().join() === published.toSorted().join()
      ? []
      : [`P3: the Delta log of ${schema}.${name} shows other files than the manifest`]
  })
