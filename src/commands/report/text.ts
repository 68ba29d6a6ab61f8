/** The output of `report` for people. */
import { counted, humanBytes } from '../../base/human.js'
import type { WrittenReport } from './run.js'

export const renderWritten = (out: string, { inField, sections, bytes }: WrittenReport): string =>
  `${counted(inField, 'survey')} in the field, ${counted(sections, 'survey')} with a section, ${humanBytes(bytes)}\n\nwritten to ${out}: open it in a browser\n`
