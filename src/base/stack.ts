/**
 * Stacks with positions in the TypeScript files. Node's own `--enable-source-maps` would read all source maps at every start. We read them
 * only when a stack is printed.
 */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The frames of an error's stack. Frames without a source map stay as they are. */
export const readableStack = (stack: string): string =>
  stack.replaceAll(
    /(file:\/\/[^\n()]+\.js):(\d+):(\d+)/g,
    (frame, url: string, line: string, column: string) =>
      positionIn(url, Number(line), Number(column)) ?? frame,
  )

const positionIn = (url: string, line: number, column: number): string | null => {
  const entry = readMap(url)?.findEntry(line - 1, column - 1)
  if (entry === undefined || !('originalSource' in entry)) return null
  const source = fileURLToPath(new URL(entry.originalSource, url))
  return `${relative(packageDirectory, source)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
}

/** The source map of a compiled file; null without one. */
const readMap = (url: string): SourceMap | null => {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')))
  } catch {
    return null
  }
}

const packageDirectory = fileURLToPath(new URL('../..', import.meta.url))
