/** One line of the plan: the columns that the first line names, and what the cells of another line say. */
import { z } from 'zod'
import { DAY_MS } from '../base/durations.js'
import { quoted } from '../base/human.js'
import type { PlanLine } from '../model/tables.js'
import { mailAddress } from './credentials.js'
import { bad, good, type Read, textAs, textThat } from './readers.js'

/** An empty cell is null. */
const filled = <T>(schema: z.ZodType<T>) =>
  z.preprocess((cell) => (cell === '' ? null : cell), schema.nullable())

const idOf = (what: string) => {
  const problem = `must be the number of a ${what}`
  return z
    .string()
    .regex(/^[1-9]\d{0,15}$/, problem)
    .transform(Number)
    .pipe(z.int(problem))
}

/** Matching takes a time that grows with each `*`. */
const WILDCARDS_MAX = 3

const isDay = (text: string): boolean => {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(`${text}T`)
}

/** A spreadsheet writes 0 as a day in 1899 or 1900. */
const isNear = (day: string): boolean => day >= '2000' && day < '2200'

const day = textAs('must be a day', (text): Read<string> => {
  if (isDay(text)) return isNear(text) ? good(text) : bad('must be between 2000 and 2199')
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return bad('must be a day of the calendar')
  const meant = meantDays(text)
  const hint = meant.length === 0 ? ', such as 2026-12-31' : `: write ${meant.join(' or ')}`
  return bad(`must be a day as YYYY-MM-DD${hint}`)
})

/** Day 0 of spreadsheets. */
const SPREADSHEET_EPOCH_MS = Date.UTC(1899, 11, 30)

/** The days that a text of a spreadsheet can mean: 31.12.2026, 12/31/2026, 2026-12-31 00:00:00 or 46387. */
const meantDays = (text: string): readonly string[] => {
  if (/^\d{5}$/.test(text))
    return [new Date(SPREADSHEET_EPOCH_MS + Number(text) * DAY_MS).toISOString().slice(0, 10)].filter(isNear)
  const [, one = '', separator, two = '', three = ''] =
    /^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[ T]00:00\S*)?$/.exec(text) ?? []
  const orders =
    one.length === 4
      ? [[one, two, three]]
      : [[three, two, one], ...(separator === '.' ? [] : [[three, one, two]])]
  const days = orders.map((parts) => parts.map((part) => part.padStart(2, '0')).join('-'))
  return [...new Set(days)].filter((written) => isDay(written) && isNear(written))
}

/** Stored as a number above 0 and up to 1. */
const incidence = textAs('must be a percentage', (text): Read<number> => {
  const [, number, percent] = /^(-?\d{1,9}(?:\.\d{1,9})?)\s*(%?)$/.exec(text) ?? []
  if (number === undefined) return bad('must be a percentage such as 45%, or a fraction such as 0.45')
  if (percent === '' && Number(number) === 1) return bad('must be written as 1% or 100%')
  const rate = percent === '%' || Number(number) > 1 ? Number(`${number}e-2`) : Number(number)
  return rate > 0 && rate <= 1 ? good(rate) : bad('must be above 0% and at most 100%')
})

const decimal = (problem: string) =>
  z
    .string()
    .regex(/^\d{1,12}(?:\.\d{1,9})?$/, problem)
    .transform(Number)

const NO_MINUTES = 'must be a number of minutes such as 12.5, above 0 and at most 1440'

const CELLS = z.object({
  survey_id: filled(idOf('survey')),
  project_id: filled(z.string()),
  sample_source_id: filled(idOf('sample source')),
  source: filled(
    textThat(`must have at most ${WILDCARDS_MAX} *`, (text) => text.split('*').length <= WILDCARDS_MAX + 1),
  ),
  due_on: filled(day),
  starts_on: filled(day),
  incidence: filled(incidence),
  loi_minutes: filled(decimal(NO_MINUTES).pipe(z.number().positive(NO_MINUTES).max(1_440, NO_MINUTES))),
  cpi: filled(decimal('must be a number such as 4.50, without its currency')),
  currency: filled(
    z
      .string()
      .regex(/^[a-z]{3}$/i, 'must be the three letters of a currency, such as EUR')
      .toUpperCase(),
  ),
  supplier: filled(z.string()),
  owner: filled(mailAddress.transform(({ address }) => address)),
  quiet_until: filled(day),
  note: filled(z.string()),
})
type CellName = keyof typeof CELLS.shape

const KEYS = ['survey_id', 'project_id', 'sample_source_id', 'source'] as const
/** The values of surveys and projects alone. */
const OF_SURVEYS = ['due_on', 'starts_on', 'owner', 'quiet_until'] as const
/** A currency says nothing without its cpi. */
const VALUES = [...OF_SURVEYS, 'incidence', 'loi_minutes', 'cpi', 'supplier', 'note'] as const
const DECIMALS: readonly string[] = ['incidence', 'loi_minutes', 'cpi'] satisfies readonly CellName[]
const COLUMNS: readonly string[] = ['account', ...Object.keys(CELLS.shape)]

export interface PlanColumns {
  /** In the order of the file. Others are allowed, such as titles. */
  readonly names: readonly string[]
  /** Whether `12,5` is a number: spreadsheets write so where semicolons separate cells. */
  readonly hasDecimalCommas: boolean
}

export const planColumnsOf = (head: readonly string[], delimiter: string): Read<PlanColumns> => {
  const names = head.map((name) => name.toLowerCase().replaceAll(' ', '_'))
  const twice = COLUMNS.find((name) => names.indexOf(name) !== names.lastIndexOf(name))
  const lacks = (of: readonly string[]) => !of.some((name) => names.includes(name))
  const problem =
    twice !== undefined
      ? `${twice} is there twice`
      : lacks(KEYS)
        ? `there is no column ${listed(KEYS)}`
        : lacks(VALUES)
          ? `there is no column of values, such as due_on`
          : null
  if (problem === null) return good({ names, hasDecimalCommas: delimiter === ';' })
  return bad(`line 1: ${problem}; the first line must name the columns, such as survey_id and due_on`)
}

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

export const planLineOf = (
  { line, cells }: { readonly line: number; readonly cells: readonly string[] },
  { names, hasDecimalCommas }: PlanColumns,
  accounts: readonly string[],
): Read<PlanLine> => {
  if (cells.slice(names.length).some((cell) => cell !== ''))
    return bad('has more cells than the first line: put a cell with a comma or semicolon in quotes')
  const cellOf = (name: string): string => {
    const cell = cells[names.indexOf(name)]?.trim() ?? ''
    return hasDecimalCommas && DECIMALS.includes(name) ? cell.replace(/^([^.,]*),([^.,]*)$/, '$1.$2') : cell
  }
  const account = accountOf(cellOf('account'), accounts)
  if (!account.ok) return account
  const read = CELLS.safeParse(Object.fromEntries(COLUMNS.map((name) => [name, cellOf(name)])))
  if (!read.success) {
    const [{ path = [], message = 'is wrong' } = {}] = read.error.issues
    const name = String(path[0])
    return bad(`${name} ${message}, not ${quoted(cells[names.indexOf(name)])}`)
  }
  const { survey_id, project_id, sample_source_id, source, ...values } = read.data
  const problem = problemOf(read.data)
  if (problem !== null) return bad(problem)
  return good({
    account: account.value,
    survey_id,
    // The more specific name counts: that of a survey before its project, and a number before a name.
    project_id: survey_id === null && sample_source_id === null ? project_id : null,
    sample_source_id,
    source: sample_source_id === null ? source : null,
    ...values,
    currency: values.cpi === null ? null : values.currency,
    line,
  })
}

/** What the values of a line are wrong about, each of which is right by itself. */
const problemOf = (line: z.output<typeof CELLS>): string | null => {
  if (KEYS.every((name) => line[name] === null)) return `needs a ${listed(KEYS)}`
  const isOfSource = line.sample_source_id !== null || line.source !== null
  const misplaced = isOfSource ? OF_SURVEYS.find((name) => line[name] !== null) : undefined
  if (misplaced !== undefined) return `${misplaced} must be in a line about a survey or project, not a source`
  if (!isOfSource && line.supplier !== null) return 'supplier must be in a line about a source'
  if (line.cpi !== null && line.currency === null) return 'cpi needs a currency, such as EUR'
  if (line.starts_on !== null && line.due_on !== null && line.starts_on > line.due_on)
    return `starts_on must not be after due_on, which is ${line.due_on}`
  return VALUES.some((name) => line[name] !== null) ? null : `needs a value, such as due_on`
}

const accountOf = (name: string, accounts: readonly string[]): Read<string> => {
  const [only = ''] = accounts
  if (name === '' && accounts.length === 1) return good(only)
  if (accounts.includes(name)) return good(name)
  const known = `${accounts.slice(0, 5).join(', ')}${accounts.length > 5 ? ', …' : ''}`
  return bad(
    `account must be one of the settings (${known}), ${name === '' ? 'and is empty' : `not ${quoted(name)}`}`,
  )
}

/** What a line is about, in words. With several accounts, also its account. */
export const planLineName = (line: PlanLine, accounts: readonly string[]): string => {
  const { account, survey_id, project_id, sample_source_id, source } = line
  const scope = survey_id === null ? `project ${quoted(project_id)}` : `survey ${survey_id}`
  const hasScope = survey_id !== null || project_id !== null
  const sources = sample_source_id === null ? `sources ${quoted(source)}` : `source ${sample_source_id}`
  const isOfSource = sample_source_id !== null || source !== null
  const what = isOfSource ? `${sources}${hasScope ? ` of ${scope}` : ''}` : scope
  return accounts.length > 1 ? `${what} of ${account}` : what
}
