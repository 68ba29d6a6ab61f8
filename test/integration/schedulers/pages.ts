/** The pages about schedulers, and a command that ends with the exit code that a test names. */

import { readdirSync, readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const FOLDER = new URL('../../../docs/how-to/schedule/', import.meta.url)

export const PAGES = readdirSync(FOLDER).map((name) => name.replace(/\.md$/, ''))

export const textOf = (page: string): string => readFileSync(new URL(`${page}.md`, FOLDER), 'utf8')

/** The blocks of code of one language. */
export const blocksOf = (page: string, language: string): readonly string[] =>
  [...textOf(page).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  )

export const blockOf = (page: string, language: string): string => {
  const [block, ...more] = blocksOf(page, language)
  if (block === undefined || more.length > 0) throw new Error(`${page} has not one block of ${language}`)
  return block
}

/** Writes a command into a directory for the PATH. It appends its arguments to the file $CALLS, and ends with the exit code $EXIT. */
export const writeCommand = async (directory: string, name = 'fieldwork-sync', exit = '$EXIT') => {
  const file = join(directory, name)
  await writeFile(file, `#!/bin/sh\necho "$*" >>"\${CALLS:-/dev/null}"\nexit ${exit}\n`)
  await chmod(file, 0o755)
}
