/**
 * Runs every console block of docs/tutorial.md in a terminal, in order, and compares its output with the page. `vitest -u` writes
 * the new output into the page.
 */
import { readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { openTerminal, textOf } from '../../support/process/terminal.mjs'
import { lacks } from '../../support/suite/lacks.js'
import { type Command, isShown, partsOf, sourceOf } from './console-page.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const PAGE = `${root}docs/tutorial.md`
const text = readFileSync(PAGE, 'utf8')
const RUN = partsOf(text)

const SHOWN_DIRECTORY = '/home/you/fieldwork-sync'
const SHOWN_PORT = '8080'

test.skipIf(lacks('script') || lacks('bash') || lacks('curl'))(
  'every command of the tutorial prints what the page shows',
  async ({ onTestFinished }) => {
    const directory = await temporaryDirectory(onTestFinished)
    for (const name of ['dist', 'node_modules']) await symlink(join(root, name), join(directory, name))
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC' }
    await using first = await openTerminal({ cwd: directory, env })
    await using second = await openTerminal({ cwd: directory, env })
    let port = SHOWN_PORT

    const asShown = (output: string): readonly string[] =>
      textOf(output.replaceAll(`:${port}`, `:${SHOWN_PORT}`).replaceAll(directory, SHOWN_DIRECTORY))

    /** Returns what the command printed. */
    const run = async ({ line, instruction }: Command): Promise<readonly string[]> => {
      const onOurPort = line.replaceAll(`:${SHOWN_PORT}`, `:${port}`)
      if (instruction === 'first terminal') {
        first.type(line.replace(`--port ${SHOWN_PORT}`, '--port 0'))
        const greeting = await first.waitFor('\n')
        port = /"base_url":"http:\/\/127\.0\.0\.1:(\d+)\//.exec(greeting)?.[1] ?? ''
        return asShown(greeting)
      }
      if (instruction !== null) {
        second.type(onOurPort)
        await second.waitFor(/^Ctrl-C at: (.+)$/.exec(instruction)?.[1] ?? '')
        second.pressCtrlC()
        return asShown(await second.finish())
      }
      return asShown(await second.run(onOurPort))
    }

    let page = ''
    for (const part of RUN) {
      if (part.kind === 'file') {
        await mkdir(dirname(join(directory, part.name)), { recursive: true })
        await writeFile(join(directory, part.name), part.text)
      }
      const output = part.kind === 'command' ? await run(part) : null
      const isNew = part.kind === 'command' && output !== null && !isShown(part.shown, output)
      page += isNew ? sourceOf(part.line, output) : part.source
    }
    await expect(page).toMatchFileSnapshot(PAGE)
  },
)
