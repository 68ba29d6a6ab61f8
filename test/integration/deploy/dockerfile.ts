/** Parses our Dockerfile into data. It knows only the syntax that we use, and throws on anything else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

interface Instruction {
  readonly keyword: string
  /** The text after the keyword, with continuation lines joined. */
  readonly text: string
}

export interface Stage {
  readonly image: string
  readonly name: string | null
  readonly instructions: readonly Instruction[]
}

export interface Copy {
  /** Name of the source stage; null is the build context. */
  readonly from: string | null
  readonly sources: readonly string[]
  readonly target: string
}

export const projectDirectory = fileURLToPath(new URL('../../..', import.meta.url))

const texts = z.record(z.string(), z.string())

/** Our package.json. */
export const manifest = z
  .object({
    ...{ name: z.string(), version: z.string(), description: z.string(), license: z.string() },
    ...{ bin: texts, scripts: texts, engines: texts, dependencies: texts },
    ...{ optionalDependencies: texts, devDependencies: texts },
  })
  .parse(JSON.parse(readFileSync(join(projectDirectory, 'package.json'), 'utf8')))

export const readDockerfile = (): readonly Stage[] => {
  const text = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8')
  const stages: { image: string; name: string | null; instructions: Instruction[] }[] = []
  for (const line of text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')) {
    if (line.trim() === '') continue
    const [, keyword = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    if (keyword === '') throw new Error(`not an instruction: ${line}`)
    if (keyword === 'FROM') {
      const [, image = '', name] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? []
      stages.push({ image, name: name ?? null, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (stage === undefined) throw new Error(`${keyword} before the first FROM`)
      stage.instructions.push({ keyword, text: rest })
    }
  }
  return stages
}

/** The texts of all instructions with this keyword, in order. */
export const textsOf = (stage: Stage | undefined, keyword: string): readonly string[] =>
  (stage?.instructions ?? []).filter((instruction) => instruction.keyword === keyword).map(({ text }) => text)

/** The pairs of a LABEL or ENV instruction. */
export const pairsOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, key = '', quoted, plain]) => [
      key,
      quoted ?? plain ?? '',
    ]),
  )

/** Parses an instruction in exec form, a JSON array of strings. */
export const execFormOf = (text: string): readonly string[] => {
  const value: unknown = JSON.parse(text)
  if (!Array.isArray(value) || !value.every((part) => typeof part === 'string'))
    throw new Error(`not in exec form: ${text}`)
  return value
}

export const copyOf = (text: string): Copy => {
  const words = text.split(' ')
  const [first = ''] = words
  const from = first.startsWith('--from=') ? first.slice('--from='.length) : null
  const paths = from === null ? words : words.slice(1)
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }
}

/** Whether a file is part of the build context. The last matching pattern of .dockerignore decides. */
export const isInContext = (path: string): boolean =>
  readFileSync(new URL('../../../.dockerignore', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .reduce((included, line) => {
      const pattern = line.replace(/^!/, '')
      if (pattern !== '*' && /[*?[]/.test(pattern))
        throw new Error(`unsupported pattern in .dockerignore: ${line}`)
      const matches = pattern === '*' || path === pattern || path.startsWith(`${pattern}/`)
      return matches ? line.startsWith('!') : included
    }, true)
