/** `init` writes a settings file from flags or from answers on a terminal, and ends as `check` does. */
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { refusing } from '../support/api/scripted-api.js'
import { MAIN, withEndLine } from '../support/command/command.js'
import { openTerminal, type Terminal } from '../support/process/terminal.mjs'
import { boundByModes, lacksUsers } from '../support/process/users.js'
import { lacks } from '../support/suite/lacks.js'
import { openPlace, settingsIn, TOKEN } from './init-shared.js'

describe('with flags', () => {
  test.skipIf(lacksUsers())('it says that a directory may not be written', async (context) => {
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
})

describe.skipIf(lacks('script') || lacks('bash'))('on a terminal', () => {
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
      await answer(terminal, ADDRESS, ` ${url} `, 'It must be a URL such as https://host.example/api/v1\r\n'),
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

  test('Ctrl-C during the check ends it, and keeps the files', async (context) => {
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

  test.for(STOPS)('%s at any question leaves nothing behind', async ([stop, says], context) => {
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
})
