/**
 * The project uses the field's words. Each pattern is a word that it used before; `docs/reference/glossary.md` explains those that
 * remain ours.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

const BANNED: readonly (readonly [word: RegExp, instead: string])[] = [
  [/errand/i, 'pending request'],
  [/misfit/i, 'data problem'],
  [/\btall(y|ies)\b|Tally/, 'run state, run counters'],
  [/\bspending/i, 'request usage'],
  [/\bgrace\b|Grace\b/, 'shutdown deadline'],
  [/\bwires?\b|Wire\b|Wire[A-Z]/, 'transport, response'],
  [/\bpots?\b|Pot\b/, 'request budget'],
  [/\bstanding\b|Standing\b/, 'drift check'],
  [/\bturns\b/, 'pacer; as a verb: makes'],
  [/\bstrangers?\b/, 'other process, unknown member'],
  [/\blive\b(?!-)/i, 'active'],
  [/\b(is|are|was|were|be|been|being) over\b/, 'closed, ended'],
  [/\b(is|are|was|were|be|been|being) (told|asked)\b/, 'is reported, is requested'],
  [
    /\b(a|the|its|their|each|every|equal|own) shares?\b|\bshares? of\b|[a-z]Share\b|Share(State|s)\b/,
    'allocation, fallback, weight',
  ],
  [/\bleave (for|to) (a|an|one|every|each|send)\b|\btakes? leave\b|\bhands? out leave\b/i, 'allowance'],
  [/\b(Begun|Heard|Happened|Wanted)\b/, 'a noun'],
  [/full_?listing_?wanted/i, 'full listing due'],
  [/fre(eze|ezing)|froze/i, 'pause'],
]

/** A contract freezes, as in dlt; so do objects, panes of a sheet, and the clock of the reference server. */
const OTHER_FREEZES = /contract|Object\.(freeze|isFrozen)|freeze_?pane|clock|['"`](freeze|frozen)['"`]/i

/** They read or describe the former names. */
const EXEMPT = new Set([
  'src/warehouse/lifecycle/migrations.ts',
  'src/warehouse/history/runs.ts',
  'test/unit/warehouse/lifecycle/migrations.ci.test.ts',
  'test/integration/docs/words.test.ts',
])

const filesBelow = (path: string): readonly string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true }).flatMap((entry) => {
    const below = `${path}/${entry.name}`
    if (entry.isDirectory()) return filesBelow(below)
    return /\.(tsx?|mjs|py|sh|md|json|yaml)$/.test(entry.name) ? [below] : []
  })

test.each(['src', 'test', 'docs', 'config', 'README.md', 'ARCHITECTURE.md'])(
  '%s has no word that the project has given up',
  (place) => {
    const files = place.endsWith('.md') ? [place] : filesBelow(place)
    const found = files.flatMap((file) => {
      if (EXEMPT.has(file)) return []
      const lines = [file, ...readFileSync(join(ROOT, file), 'utf8').split('\n')]
      return lines.flatMap((line, number) =>
        BANNED.flatMap(([word, instead]) => {
          const match = word.exec(line)?.[0]
          if (match === undefined || (/^fr/i.test(match) && OTHER_FREEZES.test(line))) return []
          return [`${file}:${number} "${match}" (${instead}): ${line.trim()}`]
        }),
      )
    })
    expect(found).toEqual([])
  },
)
