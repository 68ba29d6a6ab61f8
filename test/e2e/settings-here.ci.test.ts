/** Without `--config` and its variable, a command reads the `fieldwork-sync.yaml` of the directory in which it starts, and says so. */
import { chmod, chown, lchown, mkdir, rename, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { isRoot } from '../support/process/users.js'
import { some } from '../support/suite/cases.js'
import { NOTE, openHere } from './settings-here-shared.js'

test.concurrent('it is used and named: in the log of a run, on stderr of other commands', async (context) => {
  const { put, run } = await openHere(context)
  await put()
  const synced = await run(['sync', '--json'])
  expect(synced).toMatchObject({ code: 0, stderr: expect.stringContaining(`"msg":"${NOTE}"`) })
  expect(JSON.parse(synced.stdout).accounts[0].account).toBe('acme')
  const status = await run(['status', '--json'])
  expect(status).toMatchObject({ code: 0, stderr: `fieldwork-sync: ${NOTE}\n` })
  expect(JSON.parse(status.stdout)).toHaveProperty('verdict')
  expect(await run(['status', '--log-level', 'warn'])).toMatchObject({ code: 0, stderr: '' })
})

test.concurrent('--config and FIELDWORK_SYNC_CONFIG come before it, and the other variables override it', async (context) => {
  const { put, other, run } = await openHere(context)
  await put({ nonsense: true })
  const [flag = '', path = ''] = await other()
  for (const ended of [await run(['plan', flag, path]), await run(['plan'], { FIELDWORK_SYNC_CONFIG: path })])
    expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(await run(['plan'], { FIELDWORK_SYNC_CONFIG: '' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('FIELDWORK_SYNC_CONFIG: is set but empty'),
  })
  await put()
  const elsewhere = await run(['plan', '--json'], { FIELDWORK_SYNC_API_ID: 'x' })
  expect(elsewhere).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('FIELDWORK_SYNC_API_ID: must be'),
  })
})

test.concurrent('its problems name it, and a file that cannot be read is one', async (context) => {
  const { put, run } = await openHere(context)
  const problem = async () => (await run(['status'])).stderr.split('\n')[1]
  await put({ nonsense: true })
  expect(await problem()).toBe('  ./fieldwork-sync.yaml:1: nonsense is not a setting; remove it')
  await put({ accounts: [] })
  expect((await run(['sync'])).stderr).toMatch(
    /^ {2}\.\/fieldwork-sync\.yaml:1: no account is configured\. Run fieldwork-sync init: /m,
  )
})

test.concurrent.for([
  [
    'a directory',
    (file: string) => mkdir(file),
    'is a directory, not a file; see --config and FIELDWORK_SYNC_CONFIG',
  ],
  [
    'a link to nothing',
    (file: string) => symlink('absent', file),
    'does not exist; name another one by --config',
  ],
] as const)('%s is an error as if --config named it', async ([, make, why], context) => {
  const { file, run } = await openHere(context)
  await make(file)
  expect(await run(['status'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `fieldwork-sync: 1 problem in the settings; nothing was requested:\n  ./fieldwork-sync.yaml: the settings file ${why}\n`,
  })
})

const OTHER = 65_534

const ELSEWHERE = 'so it may send your token elsewhere. If you trust it, name it by --config'

/** Puts the file of a trial behind a link: both names, and the directories of both. */
const linked = async (file: string, temporary: () => Promise<string>) => {
  const directory = await temporary()
  const target = join(directory, 'settings.yaml')
  await rename(file, target)
  await symlink(target, file)
  return { directory, target }
}

test.concurrent.for(
  some(
    [
      [
        'a file that a group can write',
        (file: string) => chmod(file, 0o664),
        'can be written by others (mode 664)',
      ],
      [
        'a file that all can write',
        (file: string) => chmod(file, 0o646),
        'can be written by others (mode 646)',
      ],
      [
        'a directory that a group can write',
        (file: string) => chmod(dirname(file), 0o770),
        'is in a directory that can be written by others (mode 770)',
      ],
      [
        'a directory such as /tmp',
        (file: string) => chmod(dirname(file), 0o1777),
        'is in a directory that can be written by others (mode 1777)',
      ],
      [
        'a link to a file that all can write',
        async (file: string, temporary: () => Promise<string>) => {
          await chmod((await linked(file, temporary)).target, 0o666)
        },
        'can be written by others (mode 666)',
      ],
      [
        'a link into a directory that all can write',
        async (file: string, temporary: () => Promise<string>) => {
          await chmod((await linked(file, temporary)).directory, 0o777)
        },
        'is in a directory that can be written by others (mode 777)',
      ],
      ...(isRoot
        ? ([
            [
              'the file of another user',
              (file: string) => chown(file, OTHER, OTHER),
              `belongs to another user (uid ${OTHER})`,
            ],
            [
              'a directory of another user',
              (file: string) => chown(dirname(file), OTHER, OTHER),
              `is in a directory that belongs to another user (uid ${OTHER})`,
            ],
            [
              'the link of another user',
              async (file: string, temporary: () => Promise<string>) => {
                await linked(file, temporary)
                await lchown(file, OTHER, OTHER)
              },
              `belongs to another user (uid ${OTHER})`,
            ],
            [
              'a link to the file of another user',
              async (file: string, temporary: () => Promise<string>) => {
                await chown((await linked(file, temporary)).target, OTHER, OTHER)
              },
              `belongs to another user (uid ${OTHER})`,
            ],
          ] as const)
        : []),
    ] as const,
    2,
  ),
)('%s is not used, unless it is named', async ([, change, why], context) => {
  const { file, put, run, requests, temporary } = await openHere(context)
  await put()
  await change(file, temporary)
  const stderr = `fieldwork-sync: 1 problem in the settings; nothing was requested:\n  ./fieldwork-sync.yaml: the settings file ${why}, ${ELSEWHERE}\n`
  for (const command of ['sync', 'status', 'check'])
    expect([command, await run([command])]).toMatchObject([command, { code: 2, stderr }])
  expect(requests()).toBe(0)
  expect((await run(['sync', '--config', 'fieldwork-sync.yaml'])).code).toBe(0)
  expect((await run(['status'], { FIELDWORK_SYNC_CONFIG: './fieldwork-sync.yaml' })).code).toBe(0)
})

test.concurrent('init is not disturbed by it', async (context) => {
  const { put, run } = await openHere(context)
  await put({ nonsense: true })
  const answers = ['--base-url', 'https://api.example/api/v1', '--id', '1', '--token-file', 'token']
  const ended = await run(['init', ...answers, '--out', 'new.yaml', '--no-check'])
  expect(ended.stderr).toContain('--token-file: the token file that it names does not exist')
})
