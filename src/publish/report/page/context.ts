/** What every part of the page needs. */
import type { Formats } from '../formats.js'
import type { ReportRows } from '../read.js'

export interface ReportPage {
  readonly rows: ReportRows
  readonly formats: Formats
  /** The surveys, by key, that have a section. */
  readonly sections: ReadonlySet<string>
}

export interface PartProps {
  readonly page: ReportPage
}

export const hasAccounts = ({ rows: { asOf } }: ReportPage): boolean => asOf.length > 1
