/**
 * The environment of the process. Nothing else in the project reads `process.env`. Which variables are settings is in `names`;
 * other FIELDWORK_SYNC_… names are left alone: clusters inject some of their own.
 */

/** Environment variables by name; `undefined` is the same as not there. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A copy of the environment of this process. */
export const processEnvironment = (): Environment => ({ ...process.env })

/**
 * Whether a terminal may get colours, and a line that redraws itself: it is one, it can do it, and NO_COLOR
 * is not set (colours only).
 */
export const terminalFeatures = (
  env: Environment,
  stream: { readonly isTTY?: boolean | undefined },
): { readonly colour: boolean; readonly redraw: boolean } => {
  const redraw = stream.isTTY === true && env.TERM !== 'dumb'
  return { redraw, colour: redraw && (env.NO_COLOR ?? '') === '' }
}
