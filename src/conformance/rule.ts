/**
 * The types of rules and observations: rules of the API document, observations where the document is silent, and rules about everything
 * that the other rules have read.
 */
import { conforms, describeField, type Field, type Fields, type JsonObject } from './fields.js'
import type { Evidence } from './read/evidence.js'
import type { ListReading, Reader } from './read/reader.js'
import { fail, PASS, Unseen, type Verdict } from './verdict.js'

/** What rules and observations have in common. */
interface Check {
  /** The heading of the API document that contains the rule. */
  readonly section: string
  /** May send requests. Throws `Unseen` if the service does not show what the rule or observation needs. */
  readonly check: (evidence: Evidence) => Verdict | Promise<Verdict>
  /**
   * `last`: sends many requests, so it comes after the other rules that send requests. `passive`: sends no requests, and comes after all
   * other rules, on everything that they have read.
   */
  readonly when?: 'last' | 'passive'
}

export interface Rule extends Check {
  /** Stable, for machines: `paging.next`. */
  readonly id: string
  readonly text: string
}

/** Reports the behaviour of the service where the API document is silent, as the note of a verdict that passes. */
export interface Observation extends Check {
  readonly topic: string
}

/** Makes the rules of a section that may send requests. */
export const rulesOf =
  (section: string) =>
  (id: string, text: string, check: Rule['check']): Rule => ({ id, section, text, check })

export interface EachRule<Item> extends Pick<Rule, 'id' | 'section' | 'text'> {
  readonly items: (reader: Reader) => readonly Item[]
  /** Null if the rule says nothing about the item. */
  readonly judge: (item: Item, reader: Reader) => Verdict | null
  /** The reason why the rule cannot be observed when it says nothing about any item. */
  readonly nothing: string
}

export const each = <Item>({ items, judge, nothing, ...rule }: EachRule<Item>): Rule => ({
  ...rule,
  when: 'passive',
  check: ({ reader }) => judgeEach(items(reader), (item) => judge(item, reader), nothing),
})

/** The first failure, with the number of further ones. Throws `Unseen` if `judge` gives no verdict for any item. */
export const judgeEach = <Item>(
  items: readonly Item[],
  judge: (item: Item) => Verdict | null,
  nothing: string,
): Verdict => {
  const verdicts = items.flatMap((item) => judge(item) ?? [])
  if (verdicts.length === 0) throw new Unseen(nothing)
  const [first, ...more] = verdicts.filter((verdict) => verdict.verdict === 'fail')
  if (first === undefined) return PASS
  return more.length === 0 ? first : { ...first, got: `${first.got} (and ${more.length} more)` }
}

/** A record and where it was seen; `name` as in `survey 17`. */
interface SeenRecord {
  readonly request: string
  readonly name: string
  readonly record: JsonObject
  /** Whether the document does not say which value a field has here. */
  readonly isOpen?: (field: string) => boolean
}

/** One rule for each field of a table of the document: the field is present and has its type. `survey` makes the ids `survey.title`, … */
export const fieldRules = (
  prefix: string,
  section: string,
  fields: Fields,
  records: (reader: Reader) => readonly SeenRecord[],
  nothing: string,
): readonly Rule[] =>
  Object.entries(fields).map(([name, field]) => ({
    id: `${prefix}.${name}`,
    section,
    text: `${name}: ${describeField(field)}`,
    when: 'passive',
    check: ({ reader }) => {
      const judged = records(reader).filter(({ isOpen }) => isOpen?.(name) !== true)
      if (judged.length === 0) throw new Unseen(nothing)
      return checkField(name, field, judged, reader)
    },
  }))

const NAMED_VALUES_MAX = 5

const checkField = (name: string, field: Field, records: readonly SeenRecord[], { show }: Reader) => {
  const wrong = records.filter(({ record }) => !conforms(record[name], field))
  const [first] = wrong
  if (first === undefined) return PASS
  const values = new Set(wrong.map(({ record }) => show(record[name])))
  const shown = [...values].slice(0, NAMED_VALUES_MAX).join(', ')
  const dots = values.size > NAMED_VALUES_MAX ? ', …' : ''
  const where = `in ${first.name}${wrong.length === 1 ? '' : ` and ${wrong.length - 1} more`}, of ${records.length} seen`
  return fail(first.request, `${name}: ${describeField(field)}`, `${shown}${dots} ${where}`)
}

const recordsOf = ({ seen, show }: Reader, endpoint: ListReading['endpoint'], name: string) =>
  seen.lists
    .filter((reading) => reading.endpoint === endpoint)
    .flatMap(({ request, rows }): readonly SeenRecord[] =>
      rows.map((record) => ({ request, name: `${name} ${show(record.id)}`, record })),
    )

/** The rows of all pages, once for each time they were read. */
export const surveyRecords = (reader: Reader): readonly SeenRecord[] => recordsOf(reader, 'surveys', 'survey')
export const sourceRecords = (reader: Reader): readonly SeenRecord[] =>
  recordsOf(reader, 'sample_sources', 'source')
