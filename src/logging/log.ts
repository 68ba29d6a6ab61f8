/**
 * The log on stderr: one line per event, as JSON for programs or pretty for people. Each line passes the redactor as text
 * just before it is written. Writes are synchronous, so that a process that ends loses no line.
 */
import { type DestinationStream, pino } from 'pino'
import { ExpectedError } from '../base/errors.js'
import { type LOG_LEVELS, type Log, notWritten } from '../base/log.js'
import { readableStack } from '../base/stack.js'
import type { TextStream } from './stderr.js'
import { visible } from './visible.js'

export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogOptions {
  /** Every line ends with the id, as `run_id`. */
  readonly runId: string
  readonly level: LogLevel
  /** `createStderr()`, or a status line that writes to it. */
  readonly stream: TextStream
  /** Turns lines of JSON into lines for people (`prettyStream`). Null for JSON. */
  readonly pretty: ((lines: TextStream) => DestinationStream) | null
  /** Replaces the secrets in a text (`createRedactor`). */
  readonly redact: (text: string) => string
}

export const createLog = ({ runId, level, stream, pretty, redact }: LogOptions): Log => {
  const lines: TextStream = { write: (line) => stream.write(redact(line)) }
  const destination =
    pretty === null ? { write: (line: string) => lines.write(visible(line)) } : pretty(lines)
  // A line for people contains colour sequences of ours, so hidden characters of the text are made visible before these sequences are
  // added.
  const shown = (text: string): string => (pretty === null ? redact(text) : visible(redact(text)))
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  const at = (name: Exclude<LogLevel, 'silent'>): Log[typeof name] =>
    logger.isLevelEnabled(name)
      ? (fields, message) => logger[name]({ ...plainFields(fields, shown), run_id: runId }, shown(message))
      : notWritten
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

// Turns log fields into plain data: errors with their code and causes, bigints as text. Every string passes the redactor
// before JSON escapes it a second time, because an error body may hold a token inside JSON inside JSON.

type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain }

const DEPTH_MAX = 6
const ITEMS_MAX = 100
const TEXT_LENGTH_MAX = 8_192

const plainFields = (fields: object, shown: (text: string) => string): { readonly [key: string]: Plain } => {
  const text = (value: string): string => {
    const whole = shown(value)
    return whole.length > TEXT_LENGTH_MAX ? `${whole.slice(0, TEXT_LENGTH_MAX)}…` : whole
  }
  const plain = (value: unknown, depth: number): Plain => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'boolean' || value === null) return value
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (typeof value !== 'object') return text(String(value))
    if (value instanceof Error) return text(describeError(value))
    return depth >= DEPTH_MAX ? '…' : structure(value, depth)
  }
  const structure = (value: object, depth: number): Plain => {
    if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON(), depth + 1)
    if (!isIterable(value)) return entries(value, depth)
    const items: Plain[] = []
    for (const item of value) if (items.push(plain(item, depth + 1)) === ITEMS_MAX) break
    return items
  }
  const entries = (value: object, depth: number): { readonly [key: string]: Plain } =>
    Object.fromEntries(
      Object.entries(value)
        .slice(0, ITEMS_MAX)
        .filter(([, part]) => part !== undefined)
        .map(([key, part]) => [
          depth === 0 && RESERVED.has(key) ? `_${key}` : text(key),
          plain(part, depth + 1),
        ]),
    )
  return entries(fields, 0)
}

/** Keys that every log line uses itself. */
const RESERVED: ReadonlySet<string> = new Set(['level', 'time', 'msg'])

const CAUSES_MAX = 5

/** `code: message; because code: message`. An unexpected error also gets the stack of where it was thrown. */
const describeError = (error: Error): string => {
  const chain: string[] = []
  let current: unknown = error
  while (current !== undefined && current !== null && chain.length < CAUSES_MAX) {
    chain.push(describeOne(current))
    current = current instanceof Error ? current.cause : undefined
  }
  const text = chain.join('; because ')
  return error instanceof ExpectedError || error.stack === undefined
    ? text
    : `${text}\n${readableStack(stackFrames(error.stack))}`
}

const describeOne = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const label = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  if (!(error instanceof AggregateError) || error.errors.length === 0) return `${label}: ${error.message}`
  const parts = error.errors.slice(0, CAUSES_MAX).map(describeOne)
  return `${label}: ${[error.message, ...parts].filter((part) => part !== '').join(' / ')}`
}

const stackFrames = (stack: string): string =>
  (stack.match(/^\s+at .*$/gm) ?? []).slice(0, FRAMES_MAX).join('\n')

const FRAMES_MAX = 10

const isIterable = (value: object): value is Iterable<unknown> =>
  Symbol.iterator in value && typeof value[Symbol.iterator] === 'function'
