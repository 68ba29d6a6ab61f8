/**
 * Reads the plan, a CSV file that people edit by hand or save from a spreadsheet. Only a missing file is a problem of the settings. A line
 * that cannot be read is reported with its number, and does not end a run. So a typing error costs no night.
 */
import { parse as parseCsv } from 'csv-parse/sync'
import { hasCode, isStop } from '../base/errors.js'
import { quoted } from '../base/human.js'
import { whyUnreadable } from '../base/text-file.js'
import type { PlanFile } from '../model/run.js'
import type { PlanLine } from '../model/tables.js'
import { bad, good, type Read, type ReadFile } from './readers.js'

interface CsvRecord {
  /** The first line of the record, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** `accounts`: the names of all accounts of the settings. Fails if there is no such file, or it cannot be opened. */
export const readPlan = async (
  path: string,
  accounts: readonly string[],
  readFile: ReadFile,
): Promise<Read<PlanFile>> => {
  try {
    return good({ path, ...planIn(await readFile(path), accounts) })
  } catch (error) {
    if (isStop(error)) throw error
    // The content of the file may have changed since the settings were written, so problems in it are no problems of the settings.
    if (hasCode(error, 'ERR_ENCODING_INVALID_ENCODED_DATA'))
      return good({ path, ...unreadable('it is not UTF-8 text; in Excel, save it as "CSV UTF-8"') })
    if (hasCode(error, 'EFBIG')) return good({ path, ...unreadable(`it ${whyUnreadable(error)}`) })
    return bad(whyUnreadable(error))
  }
}

type PlanContent = Omit<PlanFile, 'path'>

const unreadable = (problem: string): PlanContent => ({ rows: null, rejectedLines: 0, problems: [problem] })

/** The most problems that are reported. More would add nothing. */
const PROBLEMS_MAX = 20

const planIn = (text: string, accounts: readonly string[]): PlanContent => {
  const { records, problems, broken } = recordsOf(text.replaceAll(/\r\n?/g, '\n'))
  if (broken !== null) return unreadable(broken)
  const [head, ...lines] = records
  const columns = columnsOf(head?.cells ?? [])
  if (!columns.ok) return unreadable(columns.problem)
  const rows: PlanLine[] = []
  const lineOf = new Map<string, number>()
  for (const { line, cells } of lines) {
    if (cells.every((cell) => cell === '')) continue
    const read = planLineOf(cells, columns.value, accounts)
    const key = read.ok ? keyOf(read.value) : ''
    const earlier = lineOf.get(key)
    if (!read.ok) problems.push([line, read.problem])
    else if (earlier !== undefined)
      problems.push([line, `${nameOf(read.value, accounts)} is in line ${earlier} already`])
    else {
      lineOf.set(key, line)
      rows.push(read.value)
    }
  }
  return {
    // A file may have no lines, if people removed the last one. But a file with only wrong lines may be the wrong file.
    rows: rows.length === 0 && problems.length > 0 ? null : rows,
    rejectedLines: problems.length,
    problems: problems
      .toSorted(([one], [other]) => one - other)
      .slice(0, PROBLEMS_MAX)
      .map(([line, problem]) => `line ${line}: ${problem}`),
  }
}

/** `text` has the line breaks of Unix. `broken`: nothing after an open quote can be read with certainty. */
const recordsOf = (text: string) => {
  const records: CsvRecord[] = []
  const problems: [line: number, problem: string][] = []
  const [head = ''] = text.split('\n', 1)
  let [end, broken]: [number, string | null] = [0, null]
  parseCsv(text, {
    bom: true,
    delimiter: head.includes(';') ? ';' : ',',
    relax_column_count: true,
    skip_records_with_error: true,
    trim: true,
    on_record: (cells: string[], { lines }) => {
      records.push({ line: end + 1, cells })
      end = lines
      return null
    },
    on_skip: (error) => {
      if (hasCode(error, 'INVALID_OPENING_QUOTE'))
        problems.push([end + 1, 'a quote inside a cell: put the cell in quotes, and write "" for the quote'])
      else broken ??= `line ${end + 1}: a quote is opened, but not closed before the next comma or semicolon`
      end = typeof error?.lines === 'number' ? error.lines : end + 1
    },
  })
  return { records, problems, broken }
}

const COLUMNS = ['account', 'survey_id', 'project_id', 'due_on', 'note'] as const
type Columns = Readonly<Record<(typeof COLUMNS)[number], number>> & { readonly count: number }

/** Other columns are allowed, such as titles. */
const columnsOf = (head: readonly string[]): Read<Columns> => {
  const names = head.map((name) => name.toLowerCase().replaceAll(' ', '_'))
  const [account, survey_id, project_id, due_on, note] = COLUMNS.map((name) => names.indexOf(name))
  const twice = COLUMNS.find((name) => names.indexOf(name) !== names.lastIndexOf(name))
  const wanted = 'the first line must name the columns: survey_id or project_id, due_on, and note if you like'
  if (twice !== undefined) return bad(`line 1: ${twice} is there twice; ${wanted}`)
  if (account === undefined || survey_id === undefined || project_id === undefined || note === undefined)
    throw new TypeError('a column has no place')
  if (due_on === undefined || due_on < 0) return bad(`line 1: there is no column due_on; ${wanted}`)
  if (survey_id < 0 && project_id < 0)
    return bad(`line 1: there is no column survey_id or project_id; ${wanted}`)
  return good({ account, survey_id, project_id, due_on, note, count: names.length })
}

const planLineOf = (
  cells: readonly string[],
  columns: Columns,
  accounts: readonly string[],
): Read<PlanLine> => {
  if (cells.slice(columns.count).some((cell) => cell !== ''))
    return bad(`has more cells than the first line: put a note with a comma or semicolon in quotes`)
  const cell = (name: (typeof COLUMNS)[number]) => cells[columns[name]]?.trim() ?? ''
  const account = accountOf(cell('account'), accounts)
  const day = dayOf(cell('due_on'))
  const [survey, project] = [cell('survey_id'), cell('project_id')]
  if (!account.ok) return account
  if (survey === '' && project === '') return bad('needs a survey_id or a project_id')
  if (survey !== '' && !(/^[1-9]\d{0,15}$/.test(survey) && Number.isSafeInteger(Number(survey))))
    return bad(`survey_id must be the number of a survey, not ${quoted(survey)}`)
  if (!day.ok) return day
  const note = cell('note')
  return good({
    account: account.value,
    survey_id: survey === '' ? null : Number(survey),
    // A line with a survey and a project is about the survey.
    project_id: survey === '' ? project : null,
    due_on: day.value,
    note: note === '' ? null : note,
  })
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

const dayOf = (text: string): Read<string> => {
  const rule = 'due_on must be a day as YYYY-MM-DD'
  if (text === '') return bad(`${rule}, and is empty`)
  const [, day = '', month = '', year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text) ?? []
  const written = year === undefined ? null : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  if (written !== null && isDay(written)) return bad(`${rule}: write ${written} instead of ${text}`)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return bad(`${rule}, such as 2026-12-31, not ${quoted(text)}`)
  if (!isDay(text)) return bad(`due_on ${text} is no day of the calendar`)
  // A spreadsheet writes 0 as a day in 1899 or 1900.
  return text < '2000' || text >= '2200' ? bad(`due_on ${text} must be between 2000 and 2199`) : good(text)
}

const isDay = (text: string): boolean => {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

const keyOf = ({ account, survey_id, project_id }: PlanLine): string =>
  JSON.stringify([account, survey_id, project_id])

/** The survey or project of a line. With several accounts, also its account. */
const nameOf = ({ account, survey_id, project_id }: PlanLine, accounts: readonly string[]): string => {
  const what = survey_id === null ? `project ${quoted(project_id)}` : `survey ${survey_id}`
  return accounts.length > 1 ? `${what} of ${account}` : what
}
