/**
 * Makes rows that the page can show. The tables accept more than a page can show: numbers beyond 2^53 or infinite, days after the year
 * 9999, texts of megabytes. Such a cell never makes the report fail: it becomes unknown or is cut, and the page says so in the section of
 * the survey.
 */
import { flatRollup } from 'd3-array'
import { z } from 'zod'

/** UTF-16 units of a text on the page. Titles and names are far shorter. */
export const TEXT_UNITS_MAX = 1_000

const anyRow = z.record(z.string(), z.unknown())

const ofSurvey = z.object({ account: z.string(), survey_id: z.int() })

/** Fields that the page does not show, or shows cut. `survey_id` is null for numbers of all surveys. */
export interface Unshown {
  readonly account: string | null
  readonly survey_id: number | null
  readonly fields: readonly string[]
}

export const createShownRows = () => {
  const unshown: Unshown[] = []
  return {
    /**
     * The rows that fit `schema`, after unfit cells became null or were cut. A row is left out if one of its required cells cannot be
     * shown.
     */
    shown: <Shape extends z.ZodRawShape>(
      schema: z.ZodObject<Shape>,
      rows: readonly unknown[],
    ): readonly z.output<z.ZodObject<Shape>>[] =>
      rows.flatMap((row) => {
        const parsed = schema.safeParse(row)
        if (parsed.success) return [parsed.data]
        const fields = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))]
        unshown.push({ account: null, survey_id: null, ...ofSurvey.safeParse(row).data, fields })
        const cells = anyRow.safeParse(row).data ?? {}
        const mended = Object.fromEntries(fields.map((field) => [field, shortened(cells[field])]))
        const again = schema.safeParse({ ...cells, ...mended })
        return again.success ? [again.data] : []
      }),
    unshown: (): readonly Unshown[] =>
      flatRollup(
        unshown,
        (rows) => [...new Set(rows.flatMap(({ fields }) => fields))].sort(),
        ({ account }) => account,
        ({ survey_id }) => survey_id,
      ).map(([account, survey_id, fields]) => ({ account, survey_id, fields })),
  }
}

/** A long text without its end; null for anything else. A surrogate pair is never cut in half. */
const shortened = (cell: unknown): string | null =>
  typeof cell === 'string' && cell.length > TEXT_UNITS_MAX
    ? `${cell.slice(0, TEXT_UNITS_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`
    : null
