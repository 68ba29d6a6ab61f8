/**
 * Reads the plan, a CSV file that people edit by hand or save from a spreadsheet. Only a missing file is a problem of the settings. A line
 * that cannot be read is reported with its number, and does not end a run. So a typing error costs no night.
 */
import { parse as parseCsv } from 'csv-parse/sync'
import { hasCode, isStop } from '../base/errors.js'
import { whyUnreadable } from '../base/text-file.js'
import type { PlanFile } from '../model/run.js'
import type { PlanLine } from '../model/tables.js'
import { planColumnsOf, planLineName, planLineOf } from './plan-line.js'
import { bad, good, type Read, type ReadFile } from './readers.js'

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

const planIn = (fileText: string, accounts: readonly string[]): PlanContent => {
  const text = fileText.replaceAll(/\r\n?/g, '\n')
  const delimiter = delimiterOf(text)
  const { records, problems, broken } = recordsOf(text, delimiter)
  if (broken !== null) return unreadable(broken)
  const [head, ...lines] = records
  const columns = planColumnsOf(head?.cells ?? [], delimiter)
  if (!columns.ok) return unreadable(columns.problem)
  const rows: PlanLine[] = []
  const lineOf = new Map<string, number>()
  for (const record of lines) {
    const { line, cells } = record
    if (cells.every((cell) => cell === '')) continue
    const read = planLineOf(record, columns.value, accounts)
    const key = read.ok ? keyOf(read.value) : ''
    const earlier = lineOf.get(key)
    if (!read.ok) problems.push([line, read.problem])
    else if (earlier !== undefined)
      problems.push([line, `${planLineName(read.value, accounts)} is in line ${earlier} already`])
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

/** A title in quotes may have a semicolon. */
const delimiterOf = (text: string): string => {
  const [head = ''] = text.split('\n', 1)
  return head.replaceAll(/"[^"]*"/g, '').includes(';') ? ';' : ','
}

interface CsvRecord {
  /** The first line of the record, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** `text` has the line breaks of Unix. `broken`: nothing after an open quote can be read with certainty. */
const recordsOf = (text: string, delimiter: string) => {
  const records: CsvRecord[] = []
  const problems: [line: number, problem: string][] = []
  let [end, broken]: [number, string | null] = [0, null]
  parseCsv(text, {
    bom: true,
    delimiter,
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

const keyOf = ({ account, survey_id, project_id, sample_source_id, source }: PlanLine): string =>
  JSON.stringify([account, survey_id, project_id, sample_source_id, source])
