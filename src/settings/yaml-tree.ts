/**
 * Reads a settings file into a tree of plain values with the line of each, so that every problem can name its line. A key
 * without a value counts as absent, for instance when all its children are commented out.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  type YAMLError,
} from 'yaml'
import type { Environment } from './environment.js'
import { bad, good, type Read } from './readers.js'
import { type Path, pathText, type Tree } from './tree.js'

export interface YamlTree {
  readonly tree: Tree
  /** Line of the key (or list item) at `path` or of its nearest parent, from 1. */
  lineOf(path: Path): number
  /** Whether a part of the value comes from the environment, so that no problem may quote it. */
  isFromEnvironment(path: Path): boolean
  /** The text of a number, true or false in the file: `007` for 7. */
  writtenAt(path: Path): string | undefined
  readonly problems: readonly YamlProblem[]
}

const isName = (path: Path): boolean => /^accounts\[\d+\]\.name$/.test(pathText(path))

export interface YamlProblem {
  readonly line: number
  /** Empty if the whole file cannot be read. */
  readonly path: Path
  readonly text: string
}

const NODES_MAX = 2_000
const DEPTH_MAX = 16

export const readYaml = (text: string, env: Environment): YamlTree => {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' })
  const lines = new Map<string, number>()
  const fromEnvironment = new Set<string>()
  const written = new Map<string, string>()
  const problems: YamlProblem[] = document.errors.map((error) => ({
    line: lineCounter.linePos(error.pos[0]).line,
    path: [],
    text: `is not valid YAML here: ${withoutContent(error)}`,
  }))
  const lineOf = (path: Path): number =>
    lines.get(pathText(path)) ?? (path.length === 0 ? 1 : lineOf(path.slice(0, -1)))
  let nodes = 0

  const refuse = (path: Path, text: string): undefined =>
    void problems.push({ line: lineOf(path), path, text: `${pathText(path)} ${text}` })

  const scalar = ({ value, source }: Scalar, path: Path): Tree => {
    if (typeof value === 'number' || typeof value === 'boolean') {
      if (source !== undefined) written.set(pathText(path), source)
      return value
    }
    if (value === null || value === undefined) {
      // Without a name the account would have another one, and its rows are stored under that for ever.
      return isName(path) && /^null$/i.test(source ?? '')
        ? refuse(path, 'must be text, but YAML reads it as null; put it in quotes, or remove the line')
        : undefined
    }
    if (typeof value !== 'string')
      return refuse(path, `must be text, but YAML reads it as ${kindOf(value)}; put it in quotes`)
    if (isInterpolated(value)) fromEnvironment.add(pathText(path))
    const read = interpolate(value, env)
    if (read.ok) return read.value
    return refuse(path, read.problem)
  }

  const walk = (node: unknown, path: Path): Tree => {
    nodes += 1
    if (nodes > NODES_MAX || path.length > DEPTH_MAX) throw new TooLarge()
    if (isAlias(node)) return walk(node.resolve(document), path)
    if (isScalar(node)) return scalar(node, path)
    const note = (at: Path, source: Node | null) => {
      const offset = source?.range?.[0]
      if (offset !== undefined) lines.set(pathText(at), lineCounter.linePos(offset).line)
      return at
    }
    if (isSeq<Node>(node)) {
      return node.items.map((item, index) => walk(item, note([...path, index], item)))
    }
    if (!isMap<Node, Node | null>(node)) return undefined
    return Object.fromEntries(
      node.items.map(({ key, value }) => {
        const name = isScalar(key) ? String(key.value) : '?'
        const at = note([...path, name], key)
        return [name, walk(value, at)]
      }),
    )
  }

  const tree = problems.length === 0 ? boundedly(() => walk(document.contents, []), problems) : undefined
  return {
    tree,
    lineOf,
    isFromEnvironment: (path) => fromEnvironment.has(pathText(path)),
    writtenAt: (path) => written.get(pathText(path)),
    problems,
  }
}

/** Bounds the walk: an alias may refer to its own parent, and a small file may expand to a million values. */
const boundedly = (walk: () => Tree, problems: YamlProblem[]): Tree => {
  try {
    return walk()
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    problems.push({ line: 1, path: [], text: TOO_LARGE })
    return undefined
  }
}

class TooLarge extends Error {}

/** What YAML makes of a value that is not in quotes, in words. */
export const kindOf = (value: unknown): string => {
  if (typeof value === 'number') return 'a number'
  if (typeof value === 'boolean') return 'true or false'
  return value instanceof Date ? 'a date' : 'another type'
}

const TOO_LARGE = `has more than ${NODES_MAX} values or ${DEPTH_MAX} levels, including aliases; a settings file is smaller`

/** The message of the YAML parser without the part of the file that it quotes, which may be a token. */
const withoutContent = (error: YAMLError): string =>
  (/^[^:"\\]*/.exec(error.message)?.[0] ?? error.code).trim()

// Replaces `${NAME}` in a value of the settings file by the environment variable NAME, and `$${` by a plain `${`. YAML is
// parsed before, so no variable can change the structure of the file.

const PLACE = /\$\$\{|\$\{([^}]*)(\})?/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Whether `text` contains a variable of the environment. */
const isInterpolated = (text: string): boolean => text.replaceAll(`$\${`, '').includes(`\${`)

const interpolate = (text: string, env: Environment): Read<string> => {
  const problems: string[] = []
  const value = text.replaceAll(PLACE, (place: string, name: string | undefined, end: string | undefined) => {
    if (place === `$\${`) return `\${`
    if (end === undefined || name === undefined || !NAME.test(name)) {
      problems.push(
        `has a \${ without the name of an environment variable and a }; write $\${ for a plain \${`,
      )
      return ''
    }
    const found = env[name]
    if (found === undefined) {
      problems.push(
        `needs the environment variable ${name}, which is not set; set it, or write $\${ for a plain \${`,
      )
    }
    return found ?? ''
  })
  return problems.length === 0 ? good(value) : bad([...new Set(problems)].join('; '))
}
