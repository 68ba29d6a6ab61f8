export interface Terminal extends AsyncDisposable {
  /** Runs a command line to its end. Returns all that it printed. */
  run(command: string): Promise<string>
  /** Types a command line and returns at once. */
  type(command: string): void
  /** Waits until the output of the command contains `text`. */
  waitFor(text: string): Promise<string>
  /** Waits until the command has ended. Returns all that it printed. */
  finish(): Promise<string>
  pressCtrlC(): void
}

export interface TerminalOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly columns?: number
}

export declare const openTerminal: (options: TerminalOptions) => Promise<Terminal>

export interface Span {
  readonly text: string
  /** Codes of SGR sequences that hold, such as 31 for red and 1 for bold. */
  readonly style: readonly number[]
}

/** The lines that stay on the screen after this output. */
export declare const screenOf: (output: string) => readonly (readonly Span[])[]

/** The same as plain text. */
export declare const textOf: (output: string) => readonly string[]
