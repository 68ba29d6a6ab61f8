/** Rules about each page, answer or record that the other rules have read. They send no requests of their own. */
import type { ListReading, ProgressReading, Reader } from '../read/reader.js'
import { Unseen } from '../unseen.js'
import { PASS, type Rule, type Verdict } from '../verdict.js'

interface EachRule<Item> extends Pick<Rule, 'id' | 'section' | 'text'> {
  readonly items: (reader: Reader) => readonly Item[]
  /** Null where the rule says nothing about the item. */
  readonly judge: (item: Item, reader: Reader) => Verdict | null
  /** The reason why the rule cannot be observed when it says nothing about any item. */
  readonly nothing: string
}

export const each = <Item>({ id, section, text, items, judge, nothing }: EachRule<Item>): Rule => ({
  id,
  section,
  text,
  passive: true,
  check: ({ reader }) => judgeEach(items(reader), (item) => judge(item, reader), nothing),
})

export const eachList = (rule: Omit<EachRule<ListReading>, 'items'>): Rule =>
  each({ ...rule, items: ({ seen }) => seen.lists })

export const eachProgress = (rule: Omit<EachRule<ProgressReading>, 'items' | 'nothing'>): Rule =>
  each({ ...rule, items: ({ seen }) => seen.progresses, nothing: 'no progress was seen' })

/** The first failure, with the number of further ones. Throws `Unseen` where `judge` gives no verdict at all. */
export const judgeEach = <Item>(
  items: readonly Item[],
  judge: (item: Item) => Verdict | null,
  nothing: string,
): Verdict => {
  const verdicts = items.flatMap((item) => judge(item) ?? [])
  if (verdicts.length === 0) throw new Unseen(nothing)
  const [first, ...more] = verdicts.filter((one) => one.verdict === 'fail')
  if (first === undefined) return PASS
  return more.length === 0 ? first : { ...first, got: `${first.got} (and ${more.length} more)` }
}
