/** Log lines for people. Only a terminal needs this file, and its library is loaded only then. */
import { Writable } from 'node:stream'
import { build, type PrettyStream } from 'pino-pretty'
import type { TextStream } from './stderr.js'

/** Takes lines of JSON. Each is written to `lines` as a line for people before the call returns. */
export const prettyStream = (lines: TextStream, colorize: boolean): PrettyStream =>
  build({
    colorize,
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
    destination: new Writable({
      write: (line, _encoding, done) => {
        lines.write(String(line))
        done()
      },
    }),
  })
