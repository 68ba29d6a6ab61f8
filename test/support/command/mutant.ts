/** Copies the compiled modules of the command and changes lines in the copy: a fault that a test must find, or a line that a newcomer would add. */
import { cpSync, existsSync } from 'node:fs'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Finished, temporaryDirectory } from '../files/temporary.js'
import { MAIN } from './command.js'

export interface Mutation {
  /** Path of a compiled module, relative to `dist`. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly from: string
  readonly to: string
}

const copyOfBuild = async (finished: Finished): Promise<string> => {
  const root = dirname(dirname(MAIN))
  const copy = await temporaryDirectory(finished)
  // It has some seven hundred files: a promise for each takes four times the CPU.
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
  await cp(join(root, 'package.json'), join(copy, 'package.json'))
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  return join(copy, 'dist')
}

/** Returns the `main.js` of a mutated copy. Throws when the text of a mutation does not occur exactly once. */
export const buildMutant = (...mutations: readonly Mutation[]): Promise<string> =>
  buildMutantUntil(onTestFinished, ...mutations)

/** The same, for a copy that several tests use. */
export const buildMutantUntil = async (
  finished: Finished,
  ...mutations: readonly Mutation[]
): Promise<string> => {
  const build = await copyOfBuild(finished)
  for (const { file, from, to } of mutations) {
    const target = join(build, file)
    const pieces = (await readFile(target, 'utf8')).split(from)
    if (pieces.length !== 2)
      throw new Error(`${pieces.length - 1} places in ${file} read ${JSON.stringify(from)}, not 1`)
    await writeFile(target, pieces.join(to))
  }
  return join(build, 'main.js')
}

/** Returns the `main.js` of a copy in which `source` replaces a module. */
export const otherBuild = async (finished: Finished, module: string, source: string): Promise<string> => {
  const build = await copyOfBuild(finished)
  if (!existsSync(join(build, module))) throw new Error(`there is no module ${module} to replace`)
  await writeFile(join(build, module), source)
  return join(build, 'main.js')
}
