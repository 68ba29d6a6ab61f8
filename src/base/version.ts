/** The version of this package, read from package.json. */
import { readFileSync } from 'node:fs'

export const packageVersion = (): string => {
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
