/** P3, for readers of Delta: after a publish each log holds the files that the manifest names. */
import { z } from 'zod'
import type { BucketManifest } from '../../../src/storage/bucket/documents.js'
import type { ModelStore } from '../../support/storage/model-store.js'
import type { Violation } from './row-text.js'

const line = z.object({
  add: z.object({ path: z.string() }).optional(),
  remove: z.object({ path: z.string() }).optional(),
})

/** The files that a log shows, as paths in the bucket; null if clean-up has removed its first commits. Foreign readers test checkpoints. */
const shownBy = ({ objects }: ModelStore, directory: string): readonly string[] | null => {
  const isCommit = (key: string) => key.startsWith(`${directory}/_delta_log/`) && /\/\d{20}\.json$/.test(key)
  const commits = [...objects.keys()].filter(isCommit).toSorted()
  if (commits[0] !== undefined && !commits[0].endsWith(`${'0'.repeat(20)}.json`)) return null
  const present = new Set<string>()
  for (const text of commits.flatMap((key) => objects.get(key)?.body.toString().trim().split('\n') ?? [])) {
    const { add, remove } = line.parse(JSON.parse(text))
    if (remove !== undefined) present.delete(remove.path)
    if (add !== undefined) present.add(add.path)
  }
  return [...present].map((path) => `${directory}/${decodeURI(path)}`)
}

export const checkDelta = (model: ModelStore, { tables }: BucketManifest): Violation[] =>
  tables.flatMap(({ schema, name, files }): Violation[] => {
    const shown = shownBy(model, schema === 'main' ? `data/${name}` : `data/${schema}/${name}`)
    const published = files.filter(({ rows }) => rows > 0).map(({ path }) => path)
    return shown === null || shown.toSorted().join() === published.toSorted().join()
      ? []
      : [`P3: the Delta log of ${schema}.${name} shows other files than the manifest`]
  })

/** P3 at any time, also for a table that is switched off: no log shows a file that does not exist. */
export const checkDeltaFiles = (model: ModelStore): Violation[] => {
  const directories = [...model.objects.keys()].flatMap((key) => /^(.+)\/_delta_log\//.exec(key)?.[1] ?? [])
  return [...new Set(directories)].flatMap((directory) =>
    (shownBy(model, directory) ?? [])
      .filter((key) => !model.objects.has(key))
      .map((key) => `P3: the Delta log of ${directory} shows ${key}, which does not exist`),
  )
}
