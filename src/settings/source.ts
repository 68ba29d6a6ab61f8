/**
 * Checks the values of a tree against the schema. Each refused value is reported with its origin and removed, so that one wrong
 * value does not hide the next.
 */

import type { z } from 'zod'
import { parse } from '../base/parse.js'
import { filePath, inProperties } from './keys.js'
import { type Problem, quoted } from './problems.js'
import { type SettingsValues, settingsSchema } from './schema.js'
import { cut, type Path, pathText, put, type Tree, valueAt } from './tree.js'
import { kindOf } from './yaml-tree.js'

export interface Origin {
  /** `file:line`, the name of an environment variable, or a flag. */
  readonly where: string
  /** The setting in the file, such as `limits.attempts`. Empty for a variable or flag. */
  readonly name: string
  /** Whether a problem may show the value. */
  readonly isQuotable: boolean
  /** The text of a value that YAML did not read as text. */
  readonly written?: string | undefined
  /** The directory that relative paths start from. */
  readonly directory: string
}

export type OriginOf = (path: Path) => Origin

export interface Checked {
  readonly values: SettingsValues
  /** The tree without the refused values. */
  readonly tree: Tree
  readonly problems: readonly Problem[]
}

export const checkTree = (tree: Tree, originOf: OriginOf): Checked => {
  const parsed = settingsSchema.safeParse(inProperties(tree))
  if (parsed.success) return { values: parsed.data, tree, problems: [] }
  const { issues } = parsed.error
  const rest = issues.reduce((valid, issue) => cut(valid, filePath(issue.path)), tree)
  return {
    values: parse(settingsSchema, inProperties(rest), 'the settings without their refused values'),
    tree: rest,
    problems: issues.map((issue) => describe(issue, tree, originOf)),
  }
}

/** A problem with the value at `path`. */
export const problemAt = (originOf: OriginOf, path: Path, text: string): Problem => {
  const { where, name } = originOf(path)
  return { where, path, text: name === '' ? text : `${name} ${text}` }
}

/** A value in one of these may be a secret in the wrong place. */
const SECRET_SECTIONS: Path = ['accounts', 'storage', 'metrics', 'notify']

const describe = (issue: z.core.$ZodIssue, tree: Tree, originOf: OriginOf): Problem => {
  const path = filePath(issue.path)
  const value = valueAt(tree, path)
  const { message } = issue
  if (value === '' && message.startsWith('must')) return problemAt(originOf, path, `is empty; it ${message}`)
  const { written } = originOf(path)
  if (written !== undefined && isAccepted(tree, path, written))
    return problemAt(originOf, path, `must be text, but YAML reads it as ${kindOf(value)}; put it in quotes`)
  const mayQuote =
    !SECRET_SECTIONS.includes(path[0] ?? '') && originOf(path).isQuotable && issue.code === 'custom'
  return problemAt(originOf, path, mayQuote ? `${message}, not ${quoted(value)}` : message)
}

const isAccepted = (tree: Tree, path: Path, text: string): boolean => {
  const issues = settingsSchema.safeParse(inProperties(put(tree, path, text))).error?.issues ?? []
  return issues.every((issue) => pathText(filePath(issue.path)) !== pathText(path))
}
