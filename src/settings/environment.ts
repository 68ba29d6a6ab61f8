/**
 * The environment of the process. No other code reads `process.env`. `names` lists the variables that are settings.
 */

/** Environment variables by name; `undefined` means not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A copy of the environment of this process. */
export const processEnvironment = (): Environment => ({ ...process.env })

/** Whether `stream` is a terminal that can redraw a line, and whether it may get colours too. NO_COLOR disables only the colours. */
export const terminalFeatures = (
  env: Environment,
  stream: { readonly isTTY?: boolean | undefined },
): { readonly colour: boolean; readonly redraw: boolean } => {
  const redraw = stream.isTTY === true && env.TERM !== 'dumb'
  return { redraw, colour: redraw && (env.NO_COLOR ?? '') === '' }
}
