/**
 * The environment of the process. No other code reads `process.env`. `names` lists the variables that are settings.
 */

/** Environment variables by name; `undefined` means not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A copy of the environment of this process. */
export const processEnvironment = (): Environment => ({ ...process.env })

/**
 * Whether `stream` is a terminal that can redraw a line, and whether it may get colours too. NO_COLOR disables the colours of a terminal.
 * FORCE_COLOR decides over the colours of any stream, as in Node itself.
 */
export const terminalFeatures = (
  { TERM, NO_COLOR = '', FORCE_COLOR }: Environment,
  stream: { readonly isTTY?: boolean | undefined },
): { readonly colour: boolean; readonly redraw: boolean } => {
  const redraw = stream.isTTY === true && TERM !== 'dumb'
  const colour = FORCE_COLOR === undefined ? redraw && NO_COLOR === '' : FORCED.includes(FORCE_COLOR)
  return { redraw, colour }
}

const FORCED: readonly string[] = ['', '1', 'true', '2', '3']
