/** `init` writes a settings file from flags or from answers on a terminal, and ends as `check` does. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { refusing } from '../support/api/scripted-api.js'
import { MAIN } from '../support/command/command.js'
import { runWarm } from '../support/command/warm.js'
import { openPlace, settingsIn, TOKEN } from './init-shared.js'

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
