/**
 * A shell in a pseudo terminal, so that commands print what a person sees: colours, the log for people, the progress bar.
 * It needs `script` of util-linux and bash.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

export const hasTerminal =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true &&
  spawnSync('bash', ['--version']).status === 0

/** The shell prints this in place of a prompt, so it marks the end of a command's output. */
const PROMPT = '\u001e'
const CTRL_C = '\u0003'
/** A program that ignores Ctrl-C for longer loses its terminal. */
const END_MS_MAX = 60_000
/** Longer than any command of ours takes on a busy machine. */
const WAIT_MS_MAX = 300_000
const OUTPUT_CHARS_MAX = 1_000_000

export const openTerminal = async ({ cwd, env, columns = 100 }) => {
  const shell = spawn('script', ['-qfec', 'bash --norc --noprofile --noediting', '/dev/null'], {
    cwd,
    env: { TERM: 'xterm-256color', LANG: 'C.UTF-8', HISTFILE: '/dev/null', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(shell, 'close')
  let output = ''
  let changed = () => {}
  shell.stdout.setEncoding('utf8').on('data', (text) => {
    output = `${output}${text}`.slice(-OUTPUT_CHARS_MAX)
    changed()
  })
  /** Resolves with the output so far as soon as it contains `text`. */
  const waitFor = async (text) => {
    let givenUp = false
    const giveUp = () => {
      givenUp = true
      changed()
    }
    const timer = setTimeout(giveUp, WAIT_MS_MAX)
    closed.then(giveUp)
    while (!output.includes(text) && !givenUp) {
      await new Promise((resolve) => {
        changed = resolve
      })
    }
    clearTimeout(timer)
    if (!output.includes(text)) {
      throw new Error(`the terminal did not show ${JSON.stringify(text)}, but:\n${output}`)
    }
    return output
  }
  const type = (line) => {
    output = ''
    // As the Enter key. A terminal that is not in raw mode makes a line end of it.
    shell.stdin.write(`${line}\r`)
  }
  const finish = async () => (await waitFor(PROMPT)).split(PROMPT)[0]
  type(`stty -echo cols ${columns} rows 40; PS1=$'\\x1e'; PS2=`)
  await finish()
  return {
    waitFor,
    type,
    finish,
    run: async (command) => {
      type(command)
      return await finish()
    },
    pressCtrlC: () => shell.stdin.write(CTRL_C),
    [Symbol.asyncDispose]: async () => {
      shell.stdin.write(`${CTRL_C}\nexit\n`)
      const ending = setTimeout(() => shell.kill('SIGKILL'), END_MS_MAX)
      await closed
      clearTimeout(ending)
    },
  }
}

/** The bytes that programs of ours and DuckDB send: text, line ends, the start of the line, erasing, and colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is driven by control characters
const PART = /\r\n|\n|\r|\u001b\[\d*K|\u001b\[([\d;]*)m|[^\r\n\u001b]+/g

/**
 * The lines that stay on the screen, each as spans of text with the codes of their style: `[{ text, style: [31, 1] }]`.
 * It throws on control sequences that it does not know.
 */
export const screenOf = (output) => {
  const lines = [[]]
  let style = []
  let parsed = 0
  for (const match of output.matchAll(PART)) {
    if (match.index !== parsed) break
    const [part, codes] = match
    parsed += part.length
    if (part === '\n' || part === '\r\n') lines.push([])
    else if (part === '\r' || (part.startsWith('\u001b') && part.endsWith('K'))) lines[lines.length - 1] = []
    else if (codes !== undefined) style = styleAfter(style, codes)
    else lines.at(-1)?.push({ text: part, style })
  }
  if (parsed !== output.length)
    throw new Error(`unknown control sequence: ${JSON.stringify(output.slice(parsed, parsed + 20))}`)
  while (lines.at(-1)?.length === 0) lines.pop()
  return lines
}

const RESET = 0
const DEFAULT_COLOUR = 39

const styleAfter = (style, codes) => {
  let after = style
  for (const code of codes.split(';').map(Number)) {
    if (code === RESET) after = []
    else if (code === DEFAULT_COLOUR) after = after.filter((other) => !isColour(other))
    else after = [...after, code]
  }
  return after
}

const isColour = (code) => (code >= 30 && code <= 37) || (code >= 90 && code <= 97)

/** The lines that stay on the screen, without their colours. */
export const textOf = (output) =>
  screenOf(output).map((spans) =>
    spans
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  )
