/** The output of `check` for people: one line per check. */

export interface Check {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

export const renderChecks = (checks: readonly Check[]): string => {
  const width = Math.max(...checks.map(({ what }) => what.length))
  return checks
    .map(({ what, ok, detail }) => `${ok ? 'ok    ' : 'FAILED'}  ${what.padEnd(width)}  ${detail}\n`)
    .join('')
}
