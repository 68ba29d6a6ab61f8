/** What both test files of query use. */
import { scriptedSurvey } from '../support/api/scripted-api.js'

export const HOSTILE = '\u001b[31m=1+1|<b>_x_</b>\n\u202e"y", \u{1f436} 調査 end'

export const SURVEYS = () => [
  scriptedSurvey(1, { title: HOSTILE, project_id: '' }),
  scriptedSurvey(2, { title: 'Brand tracker wave 2', project_id: null }, 1),
  scriptedSurvey(
    3,
    { title: 'A title that is much longer than the column of a table, wave 3', status: 'draft' },
    0,
  ),
]

/** 10 GB of text. */
export const LONG = 'SELECT range AS n, repeat(md5(range::VARCHAR), 4) AS text FROM range(100000000)'

export const NO_CONTEXT = {
  stdin: () => process.stdin,
  stdout: { isTTY: false, columns: 80 },
  stderr: process.stderr,
  exit: () => undefined,
  protect: () => undefined,
  logsAs: () => undefined,
}
