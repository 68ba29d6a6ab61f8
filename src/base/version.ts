/** The version of this package, read from package.json. Not by a schema: `--version` would load zod for it. */
import { readFileSync } from 'node:fs'

export const packageVersion = (): string => {
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
