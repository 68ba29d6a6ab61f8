/** `init` writes a settings file from flags or from answers on a terminal, and ends as `check` does. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../src/settings/load-settings.js'
import { refusing, type ScriptedApi, scriptedSurvey, startScriptedApi } from '../support/api/scripted-api.js'
import { MAIN, withEndLine } from '../support/command/command.js'
import { runWarm } from '../support/command/warm.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { hasTerminal, openTerminal, type Terminal } from '../support/process/terminal.mjs'
import { boundByModes, othersCanRun } from '../support/process/users.js'
import { SLOW, slow } from '../support/suite/slow.js'

const TOKEN = 'tok-7b1e-SECRET-42'

interface Place {
  readonly api: ScriptedApi
  readonly url: string
  readonly id: string
  readonly directory: string
  readonly out: string
  readonly tokenFile: string
  /** The flags that are required without a terminal, and a warehouse. */
  readonly flags: readonly string[]
}

const openPlace = async ({ onTestFinished }: { readonly onTestFinished: Finished }): Promise<Place> => {
  const api = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2)], onTestFinished)
  const directory = await temporaryDirectory(onTestFinished)
  onTestFinished(() => rm(`${directory}.pid`, { force: true }))
  const out = join(directory, 'settings.yaml')
  const tokenFile = join(directory, 'token')
  await writeFile(tokenFile, `${TOKEN}\n`)
  const { FIELDWORK_SYNC_BASE_URL: url = '', FIELDWORK_SYNC_API_ID: id = '' } = api.env
  const account = ['--base-url', url, '--id', id, '--token-file', tokenFile]
  const flags = [...account, '--warehouse', join(directory, 'warehouse'), '--out', out]
  return { api, url, id, directory, out, tokenFile, flags }
}

const settingsIn = (config: string) =>
  loadSettings({ env: {}, signal: new AbortController().signal, flags: { config } })

describe('with flags', () => {
  test.concurrent('it writes the file, checks it, and says what to type next', async (context) => {
    const { directory, flags, out, url, id } = await openPlace(context)
    const { code, stdout, stderr } = await runWarm(['init', ...flags])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.split('\n')
    expect(lines[0]).toBe(`wrote ${out}`)
    expect(stdout).toMatch(
      /\nok {6}API of default {2}\S+ answers in \d+ ms and shows 2 surveys(; waited \d+ s for a free slot)?\n/,
    )
    expect(lines.at(-2)).toMatch(new RegExp(`^next: .* sync --config ${out}$`))
    expect(await settingsIn(out)).toMatchObject({
      accounts: [{ name: 'default', baseUrl: url, id: Number(id) }],
      warehouseDirectory: join(directory, 'warehouse'),
      storage: null,
    })
    const text = await readFile(out, 'utf8')
    expect(text).not.toContain(TOKEN)
    expect((await stat(out)).mode & 0o777).toBe(0o644 & ~process.umask())
    expect((await readdir(directory)).sort()).toEqual(['settings.yaml', 'token', 'warehouse'])
  })

  test.concurrent('it makes every path absolute, and a bucket the storage', async (context) => {
    const { directory, out, url } = await openPlace(context)
    const line = `init --base-url ${url}/ --id 007 --token-file token --out settings.yaml --no-check`
    const ended = spawnSync(
      process.execPath,
      [MAIN, ...line.split(' '), '--warehouse', 's3://research/fieldwork/'],
      { cwd: directory, env: {}, encoding: 'utf8' },
    )
    expect(ended).toMatchObject({ status: 0, stderr: '' })
    expect(ended.stdout).toBe(`wrote ${out}\n\nnext: node ${MAIN} check --config settings.yaml\n`)
    const { accounts, storage } = await settingsIn(out)
    expect(accounts).toMatchObject([{ baseUrl: url, id: 7 }])
    expect(storage).toMatchObject({ bucket: 'research', prefix: 'fieldwork' })
    expect(await readFile(out, 'utf8')).toContain(`token_file: ${join(directory, 'token')}\n`)
  })

  test.concurrent('it ends as check does when the API refuses the token, and keeps the file', async (context) => {
    const { api, flags, out, tokenFile } = await openPlace(context)
    api.hook = refusing(api, 401)
    const { code, stdout } = await runWarm(['init', ...flags, '--log-level', 'silent'])
    expect(code).toBe(4)
    expect(stdout).toMatch(/\nFAILED {2}API of default {2}the API refused the credentials/)
    const [token, next] = stdout.split('\n').slice(-3, -1)
    expect(token).toMatch(
      new RegExp(
        `^if the token is wrong, type it again: .* init --out ${out} rewrites ${tokenFile} and keeps all else$`,
      ),
    )
    expect(next).toMatch(
      new RegExp(`^if the identifier is wrong, correct it in ${out}, then: .* check --config ${out}$`),
    )
    expect(existsSync(out)).toBe(true)
  })

  test.concurrent('it refuses missing and wrong flags, an existing file and a place that cannot be written, and writes nothing', async (context) => {
    const { api, directory, flags, out } = await openPlace(context)
    const wrong = ['--base-url', 'api.example', '--id', 'x', '--token-file', join(directory, 'none')]
    const into = (file: string) => [...flags, '--force', '--out', file]
    const none = join(directory, 'none', 'settings.yaml')
    const below = join(directory, 'token', 'settings.yaml')
    await writeFile(out, 'mine')
    const cases: readonly (readonly [args: readonly string[], says: string])[] = [
      [
        ['--id', '7'],
        'init can ask only on a terminal; without one it also needs --base-url, --token-file. See fieldwork-sync init --help',
      ],
      [
        [...wrong, '--warehouse', 's3:///fieldwork', '--out', join(directory, 'new.yaml')],
        [
          '4 problems in the settings; nothing was requested:',
          '  --base-url: must be a URL such as https://host.example/api/v1',
          '  --id: must be the identifier of the account: a whole number from 1',
          '  --warehouse: must name a bucket, such as s3://bucket/prefix',
          '  --token-file: the token file that it names does not exist',
        ].join('\n'),
      ],
      [flags, `${out} exists; give --force to replace it, or --out for another file`],
      [into(directory), `${directory} cannot be written: it is a directory; give a file`],
      [into(none), `${none} cannot be written: its directory does not exist`],
      [into(below), `${below} cannot be written: its directory does not exist`],
    ]
    for (const [args, says] of cases)
      expect(await runWarm(['init', ...args])).toMatchObject({
        code: 2,
        signal: null,
        stdout: '',
        stderr: `fieldwork-sync: ${says}\n`,
      })
    expect(api.arrivals).toEqual([])
    expect(await readFile(out, 'utf8')).toBe('mine')
    expect((await readdir(directory)).sort()).toEqual(['settings.yaml', 'token'])
    expect(await runWarm(['init', ...flags, '--force', '--no-check'])).toMatchObject({ code: 0 })
    expect(await readFile(out, 'utf8')).toContain('accounts:')
  })

  test.runIf(SLOW && othersCanRun(MAIN))('it says that a directory may not be written', async (context) => {
    const { directory, flags, tokenFile } = await openPlace(context)
    const closed = join(directory, 'closed')
    await mkdir(closed)
    await chmod(directory, 0o755)
    await chmod(tokenFile, 0o644)
    if (boundByModes.uid !== undefined) await chown(closed, boundByModes.uid, 0)
    await chmod(closed, 0o555)
    const out = join(closed, 'settings.yaml')
    const { status, ...printed } = spawnSync(process.execPath, [MAIN, 'init', ...flags, '--out', out], {
      ...boundByModes,
      env: {},
      encoding: 'utf8',
    })
    expect({ status, ...withEndLine(printed.stderr) }).toMatchObject({
      status: 2,
      stderr: `fieldwork-sync: ${out} cannot be written: permission denied\n`,
    })
  })

  test.concurrent('it names variables of the environment that override the file', async (context) => {
    const { flags, id } = await openPlace(context)
    const env = {
      FIELDWORK_SYNC_API_ID: id,
      FIELDWORK_SYNC_LOG_LEVEL: 'silent',
      FIELDWORK_SYNC_API_TOKEN: 'another-token',
    }
    const { code, stderr } = await runWarm(['init', ...flags], env)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'FIELDWORK_SYNC_API_ID, FIELDWORK_SYNC_API_TOKEN are set in the environment and override this file\n',
    })
  })
})

describe.skipIf(!hasTerminal)(
  `on a terminal${hasTerminal ? '' : ' (skipped: no script of util-linux here)'}`,
  () => {
    // The mark of a question that waits for its answer.
    const ADDRESS = '◆  Address of the service; it ends with /api/v1'
    const ID = '◆  Identifier of the account'
    const WAREHOUSE = '◆  Where to put the warehouse: a directory, or a bucket such as s3://bucket/prefix'
    const TOKEN_FILE = '◆  File that holds the secret token'
    const SECRET = '◆  Secret token (it is not shown)'
    const SECRET_OR_FILE = '◆  Secret token (it is not shown; leave it empty if a file has it already)'
    const NEW_FILE = '◆  File to write it to, which only you can read'

    /** The terminal echoes what is typed unless the program prevents it. */
    const start = async (directory: string, args = ''): Promise<Terminal> => {
      const env = { PATH: process.env.PATH, HOME: directory, PID: `${directory}.pid`, NO_COLOR: '1' }
      const terminal = await openTerminal({ cwd: directory, env })
      const command = `'${process.execPath}' '${MAIN}' init ${args}`
      terminal.type(`stty echo; (echo $BASHPID >$PID; exec ${command}); echo "exit $?"; stty -a; stty -echo`)
      return terminal
    }

    /** What was shown before the answer, with the lines of a sentence joined. `refusal` is of the answer before. */
    const answer = async (
      terminal: Terminal,
      question: string,
      text: string,
      refusal = '',
    ): Promise<string> => {
      const shown = (await terminal.waitFor(question)).replaceAll(/\r\n│ +(?=\S)/g, ' ')
      expect(shown).toContain(refusal)
      terminal.type(text)
      return shown
    }

    /** The terminal is as it was before. */
    const ended = async (terminal: Terminal): Promise<string> => {
      const shown = await terminal.finish()
      expect(shown).toMatch(/ icanon[\s\S]* echo /)
      return shown
    }

    test('it asks for all, explains wrong answers, creates the token file, and checks', async (context) => {
      const { directory, url, id } = await openPlace(context)
      const terminal = await start(directory)
      await using _ = terminal
      const shown = [
        await answer(terminal, ADDRESS, 'api.example'),
        await answer(
          terminal,
          ADDRESS,
          ` ${url} `,
          'It must be a URL such as https://host.example/api/v1\r\n',
        ),
        await answer(terminal, ID, 'seven'),
        await answer(terminal, ID, id, 'a whole number from 1\r\n'),
        await answer(terminal, SECRET_OR_FILE, 'ab\u00e9'),
        await answer(terminal, SECRET_OR_FILE, ` ${TOKEN}x\u007f`, 'a header cannot carry that'),
        await answer(terminal, NEW_FILE, '~/none/token'),
        await answer(terminal, NEW_FILE, '~', 'It cannot be created: its directory does not exist'),
        await answer(terminal, NEW_FILE, '', 'It exists already. Name another file.'),
        await answer(terminal, WAREHOUSE, ''),
        await ended(terminal),
      ].join('')
      expect(shown).toContain(
        `wrote ${directory}/fieldwork-sync.yaml\r\nwrote ${directory}/fieldwork-token, which only you can read\r\n`,
      )
      expect(shown).toMatch(/ok {6}API of default .* shows 2 surveys/)
      expect(shown).toContain('sync --config fieldwork-sync.yaml\r\nexit 0\r\n')
      expect(shown).not.toContain(TOKEN)
      const token = join(directory, 'fieldwork-token')
      expect(await readFile(token, 'utf8')).toBe(`${TOKEN}\n`)
      expect((await stat(token)).mode & 0o777).toBe(0o600)
      const settings = await settingsIn(join(directory, 'fieldwork-sync.yaml'))
      expect(settings).toMatchObject({
        accounts: [{ baseUrl: url, id: Number(id) }],
        warehouseDirectory: join(directory, 'warehouse'),
      })
      expect(settings.accounts[0]?.token.reveal()).toBe(TOKEN)
    })

    test('a token that is pasted as a path is refused, and written nowhere', async (context) => {
      const { directory, url, tokenFile } = await openPlace(context)
      const pasted = 'kD83mXq0aVb2cE91zzTq7'
      const terminal = await start(directory, `--base-url ${url} --id 7 --no-check`)
      await using _ = terminal
      const refusal = 'It looks like a token, not like a path'
      await answer(terminal, SECRET_OR_FILE, pasted)
      await answer(terminal, NEW_FILE, pasted)
      await answer(terminal, NEW_FILE, '', refusal)
      await answer(terminal, WAREHOUSE, pasted)
      await answer(terminal, WAREHOUSE, './pasted', refusal)
      const shown = await ended(terminal)
      expect(shown).toContain('exit 0')
      for (const name of await readdir(directory)) {
        expect(name).not.toContain(pasted)
        if (name !== 'fieldwork-token')
          expect(await readFile(join(directory, name), 'utf8')).not.toContain(pasted)
      }
      const again = await start(directory, `--base-url ${url} --id 7 --no-check --out other.yaml`)
      await using __ = again
      await answer(again, SECRET_OR_FILE, '')
      await answer(again, TOKEN_FILE, pasted)
      await answer(again, TOKEN_FILE, tokenFile, refusal)
      await answer(again, WAREHOUSE, '')
      expect(await ended(again)).toContain('exit 0')
      expect((await settingsIn(join(directory, 'other.yaml'))).accounts[0]?.token.reveal()).toBe(TOKEN)
      const flag = await start(directory, `--base-url ${url} --id 7 --token-file ${pasted} --out third.yaml`)
      await using ___ = flag
      expect(await ended(flag)).toContain(`--token-file: ${refusal}`)
    })

    test('after a wrong token, init again asks for the token alone, and writes its file anew', async (context) => {
      const { api, directory, url, id } = await openPlace(context)
      const first = await start(directory, `--base-url ${url} --id ${id} --warehouse w`)
      await using _ = first
      api.hook = refusing(api, 401)
      await answer(first, SECRET_OR_FILE, 'a-wrong-token')
      await answer(first, NEW_FILE, '')
      const refused = await ended(first)
      const [settings, token] = [join(directory, 'fieldwork-sync.yaml'), join(directory, 'fieldwork-token')]
      expect(refused).toContain(`init --out fieldwork-sync.yaml rewrites ${token} and keeps all else`)
      expect(refused).toContain('exit 4')
      await writeFile(settings, `# mine\n${await readFile(settings, 'utf8')}`)
      const before = await readFile(settings, 'utf8')
      api.hook = () => false
      const second = await start(directory)
      await using __ = second
      const asks = await answer(second, SECRET, TOKEN)
      const shown = await ended(second)
      expect(asks).toContain(`${settings} exists and stays as it is. Type the token again.`)
      expect(shown).toContain(`wrote ${token}, which only you can read`)
      expect(shown).toContain('exit 0')
      expect(await readFile(settings, 'utf8')).toBe(before)
      expect(await readFile(token, 'utf8')).toBe(`${TOKEN}\n`)
      expect((await stat(token)).mode & 0o777).toBe(0o600)
    })

    slow('Ctrl-C during the check ends it, and keeps the files', async (context) => {
      const { api, directory, url, tokenFile } = await openPlace(context)
      api.hook = () => true
      const arrived = api.arrived(({ path }) => path === '/surveys')
      const terminal = await start(directory, `--base-url ${url} --token-file ${tokenFile} --warehouse w`)
      await using _ = terminal
      // It asks only for what the flags do not give.
      expect(await answer(terminal, ID, '4711')).not.toContain(ADDRESS)
      await arrived
      terminal.pressCtrlC()
      const shown = await ended(terminal)
      expect(shown).toMatch(/FAILED {2}API of default {2}stopped by SIGINT/)
      expect(shown).toContain('check --config fieldwork-sync.yaml\r\nexit 3\r\n')
      expect((await readdir(directory)).sort()).toEqual(['fieldwork-sync.yaml', 'token', 'w'])
    })

    const STOPS = [
      ['Ctrl-C', 'stopped at a question; nothing was written'],
      ['Ctrl-D', 'stopped at a question; nothing was written'],
      ['SIGTERM', 'stopped by SIGTERM; nothing was written'],
    ] as const

    test.runIf(SLOW).for(STOPS)('%s at any question leaves nothing behind', async ([stop, says], context) => {
      const { directory, url } = await openPlace(context)
      const dialog = [
        [ADDRESS, url],
        [ID, '7'],
        [SECRET_OR_FILE, TOKEN],
        [NEW_FILE, ''],
        [WAREHOUSE, ''],
      ] as const
      for (const [at, [question]] of dialog.entries()) {
        const terminal = await start(directory)
        await using _ = terminal
        for (const [before, text] of dialog.slice(0, at)) await answer(terminal, before, text)
        await terminal.waitFor(question)
        if (stop === 'Ctrl-C') terminal.pressCtrlC()
        else if (stop === 'Ctrl-D') terminal.type('\u0004')
        else process.kill(Number(await readFile(`${directory}.pid`, 'utf8')), 'SIGTERM')
        const shown = await ended(terminal)
        expect(shown).toContain(`fieldwork-sync: ${says}\r\nexit 3\r\n`)
        expect(await readdir(directory)).toEqual(['token'])
      }
    })
  },
)
