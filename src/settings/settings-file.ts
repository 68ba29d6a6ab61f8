/** Reads the settings file into a tree of values under known keys. */
import { dirname, resolve } from 'node:path'
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
import { nearest } from '../base/suggest.js'
import { accountName } from './credentials.js'
import type { Environment } from './environment.js'
import { keysIn, settingKeys, withKnownKeys } from './keys.js'
import { kindOf, type Problem } from './problems.js'
import { bad, good, type Read, type ReadFile, readAs, readText } from './readers.js'
import { ABSENT_FILE, type SettingsFile } from './source.js'
import { cut, isList, isSection, type Path, pathText, put, type Tree, valueAt } from './tree.js'

interface SettingsFileRequest {
  /** The path of the file as the user wrote it, which problems show. */
  readonly name: string
  readonly env: Environment
  /** Sections that are neither checked nor returned, such as `accounts`. */
  readonly unused: readonly string[]
  readonly readFile: ReadFile
  /** For a file that nobody named: the path to read instead, or why it is not read. */
  readonly trusted: Read<string> | null
}

export const openSettingsFile = async (request: SettingsFileRequest): Promise<SettingsFile> => {
  const { name, env, unused, trusted } = request
  const path = resolve(name)
  const source = trusted ?? good(path)
  const text = source.ok ? await readText(request.readFile, source.value) : source
  if (!text.ok) {
    const see = source.ok ? '; see --config and FIELDWORK_SYNC_CONFIG' : ''
    return {
      ...ABSENT_FILE,
      problems: [{ where: name, path: [], text: `the settings file ${text.problem}${see}` }],
    }
  }
  const { tree, problems, whereIs, noteAt } = readYaml(name, text.value, env)
  const isShort = isShortForm(tree)
  const known = withKnownKeys(isShort ? longForm(tree) : (tree ?? {}), (key, section) => {
    problems.push({ where: whereIs([...section, key]), ...describe(key, section) })
  })
  return {
    tree: withoutUnused(known, unused),
    accountNames: accountNamesIn(known),
    problems: problems.filter(({ path: at }) => !unused.includes(String(at?.[0]))),
    variables: new Set([...text.value.matchAll(PLACE)].map(([, variable = '']) => variable)),
    originOf: (at) => ({
      where: whereIs(at),
      name:
        at.length === 0
          ? 'the file'
          : isShort
            ? pathText(at).replace('publish.formats', 'publish')
            : pathText(at),
      isQuotable: noteAt(at)?.isFromEnvironment !== true,
      written: noteAt(at)?.written,
      directory: dirname(path),
    }),
  }
}

const accountNamesIn = (tree: Tree): readonly string[] => {
  const accounts = valueAt(tree, ['accounts'])
  if (!isList(accounts)) return []
  return accounts.map((account) => {
    const name = readAs(accountName, valueAt(account, ['name']))
    return name.ok ? name.value : 'default'
  })
}

/** `publish: [duckdb]` is short for `publish: {formats: [duckdb]}`. */
const PUBLISH: Path = ['publish']
const isShortForm = (tree: Tree): boolean => {
  const publish = valueAt(tree, PUBLISH)
  return publish !== undefined && !isSection(publish)
}
const longForm = (tree: Tree): Tree => put(tree, PUBLISH, { formats: valueAt(tree, PUBLISH) })

/** Without this section the feature is off; `daily_windows: false` means the same. */
const MAY_BE_FALSE: Path = ['refresh', 'daily_windows']

const withoutUnused = (tree: Tree, unused: readonly string[]): Tree => {
  const rest = valueAt(tree, MAY_BE_FALSE) === false ? cut(tree, MAY_BE_FALSE) : tree
  return isSection(rest) ? unused.reduce<Tree>((left, section) => cut(left, [section]), rest) : rest
}

/** `{token:abc}` is a key in YAML. A printed key must not be a token. */
const PRINTABLE_KEY = /^[A-Za-z_-]{1,40}$/

/** Suggests the nearest key of the same section, otherwise a key or section of the same name in another section. */
const describe = (key: string, parent: Path): Pick<Problem, 'text' | 'path'> => {
  if (!PRINTABLE_KEY.test(key)) {
    const section = parent.length === 0 ? 'the file' : pathText(parent)
    return { text: `${section} has a key here that is not a setting; check that a space follows its colon` }
  }
  const sibling = nearest(key, keysIn(parent))
  const [elsewhere] = settingKeys().flatMap(({ path }) => {
    const parts = path.split('.')
    return parts.includes(key) ? [parts.slice(0, 1 + parts.indexOf(key)).join('.')] : []
  })
  const meant = sibling === null ? elsewhere : pathText([...parent, sibling])
  const advice = meant === undefined ? 'remove it' : `did you mean ${meant}?`
  return {
    text: `${pathText([...parent, key])} is not a setting; ${advice}`,
    path: [...parent, sibling ?? key],
  }
}

/** How the file writes the value at a path. */
interface Note {
  /** Line of the key or list item, from 1. */
  readonly line: number
  /** Whether a part of the value comes from the environment, so that no problem may quote it. */
  isFromEnvironment?: boolean
  /** The text of a number, true or false: `007` for 7. */
  written?: string
}

const NODES_MAX = 50_000
const DEPTH_MAX = 16

/**
 * The file as a tree of plain values, with the line of each. A key without a value counts as absent, for instance when all its children are
 * commented out. If the whole file cannot be read, the tree is undefined, and the path of the problem is empty.
 */
const readYaml = (name: string, text: string, env: Environment) => {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' })
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line
  const problems: Problem[] = document.errors.map((error) => ({
    where: `${name}:${lineAt(error.pos[0])}`,
    path: [],
    text: `is not valid YAML here: ${withoutContent(error)}`,
  }))
  const notes = new Map<string, Note>()
  const noteAt = (path: Path) => notes.get(pathText(path))
  /** The line of a path, or of its nearest parent that the file has. */
  const lineOf = (path: Path): number =>
    noteAt(path)?.line ?? (path.length === 0 ? 1 : lineOf(path.slice(0, -1)))
  const whereIs = (path: Path): string => `${name}:${lineOf(path)}`
  const refuse = (path: Path, problem: string): undefined =>
    void problems.push({ where: whereIs(path), path, text: `${pathText(path)} ${problem}` })

  const scalar = ({ value, source }: Scalar, path: Path, note: Note): Tree => {
    if (typeof value === 'number' || typeof value === 'boolean') {
      if (source !== undefined) note.written = source
      return value
    }
    if (value === null || value === undefined) {
      // `name: null` is the name "null". If it counted as absent, the account would get another name, under which its rows stay for ever.
      return isName(path) && /^null$/i.test(source ?? '')
        ? refuse(path, 'must be text, but YAML reads it as null; put it in quotes, or remove the line')
        : undefined
    }
    if (typeof value !== 'string')
      return refuse(path, `must be text, but YAML reads it as ${kindOf(value)}; put it in quotes`)
    note.isFromEnvironment = isInterpolated(value)
    const read = interpolate(value, env)
    return read.ok ? read.value : refuse(path, read.problem)
  }

  let nodes = 0
  /** `named` is the key or list item, whose line counts as the line of the value. */
  const walk = (node: unknown, path: Path, named: Node | null): Tree => {
    nodes += 1
    if (nodes > NODES_MAX || path.length > DEPTH_MAX) throw new TooLarge()
    const offset = named?.range?.[0]
    const note: Note = { line: offset === undefined ? lineOf(path) : lineAt(offset) }
    notes.set(pathText(path), note)
    if (isAlias(node)) return walk(node.resolve(document), path, named)
    if (isScalar(node)) return scalar(node, path, note)
    if (isSeq<Node>(node)) return node.items.map((item, index) => walk(item, [...path, index], item))
    if (!isMap<Node, Node | null>(node)) return undefined
    return Object.fromEntries(
      node.items.map(({ key, value }) => {
        const step = isScalar(key) ? String(key.value) : '?'
        return [step, walk(value, [...path, step], key)]
      }),
    )
  }

  let tree: Tree
  try {
    if (problems.length === 0) tree = walk(document.contents, [], null)
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    problems.push({ where: `${name}:1`, path: [], text: TOO_LARGE })
  }
  return { tree, problems, whereIs, noteAt }
}

const isName = (path: Path): boolean => /^accounts\[\d+\]\.name$/.test(pathText(path))

/** Thrown for too many values: an alias may refer to its own parent, and a small file may expand to a million values. */
class TooLarge extends Error {}

const TOO_LARGE = `has more than ${NODES_MAX} values or ${DEPTH_MAX} levels, including aliases; a settings file is smaller`

/** The message of the YAML parser without its quote of the file, which may contain a token. */
const withoutContent = (error: YAMLError): string =>
  (/^[^:"\\]*/.exec(error.message)?.[0] ?? error.code).trim()

// Replaces `${NAME}` in a value of the settings file by the environment variable NAME, and `$${` by a plain `${`. YAML is parsed first, so
// no variable can change the structure of the file.

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
    const value = env[name]
    if (value === undefined) {
      problems.push(
        `needs the environment variable ${name}, which is not set; set it, or write $\${ for a plain \${`,
      )
    }
    return value ?? ''
  })
  return problems.length === 0 ? good(value) : bad([...new Set(problems)].join('; '))
}
