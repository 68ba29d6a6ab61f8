/** Without `--config` and its variable, a command reads the `fieldwork-sync.yaml` of the directory in which it starts, and says so. */
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { MAIN, withEndLine } from '../support/command/command.js'
import { openSynced } from '../support/command/trial.js'
import { mountReadOnly } from '../support/files/disk.js'
import { boundByModes, lacksUsers } from '../support/process/users.js'
import { NOTE, openHere } from './settings-here-shared.js'

test
  .skipIf(lacksUsers())
  .concurrent(
    'a file of root is used by another user, also as Kubernetes mounts a ConfigMap',
    async (context) => {
      const { file, put } = await openHere(context)
      await put()
      const status = () =>
        spawnSync(process.execPath, [MAIN, 'status'], {
          ...boundByModes,
          cwd: dirname(file),
          encoding: 'utf8',
        }).stderr
      await chmod(dirname(file), 0o755)
      expect(status()).toContain(NOTE)
      // A link in the mounted directory leads through a link to the directory of the newest version.
      const version = join(dirname(file), '..2026_03_01')
      await mkdir(version)
      await rename(file, join(version, 'fieldwork-sync.yaml'))
      await symlink('..2026_03_01', join(dirname(file), '..data'))
      await symlink('..data/fieldwork-sync.yaml', file)
      expect(status()).toContain(NOTE)
      await chmod(dirname(file), 0o777)
      expect(status()).toContain('(mode 777)')
      if (!mountReadOnly(context, dirname(file))) return
      expect(status()).toContain(NOTE)
    },
  )

test.skipIf(lacksUsers())(
  'in a directory that one may not enter there is none, with a warning',
  async (context) => {
    const trial = await openSynced(context)
    const closed = join(await trial.temporary(), 'closed')
    await mkdir(closed)
    await writeFile(join(closed, 'fieldwork-sync.yaml'), 'nonsense: true\n')
    for (const part of [dirname(closed), dirname(trial.warehouse)]) await chmod(part, 0o755)
    await chmod(closed, 0)
    context.onTestFinished(() => chmod(closed, 0o755))
    const runThere = (...args: readonly string[]) =>
      spawnSync(process.execPath, [MAIN, ...args], {
        cwd: closed,
        ...boundByModes,
        env: {},
        encoding: 'utf8',
      })
    const warning = `./fieldwork-sync.yaml: this user cannot see whether it is there: EACCES: permission denied, lstat 'fieldwork-sync.yaml'. Name a settings file by --config, or start in another directory`
    expect(runThere('status', '--check', '--warehouse', trial.warehouse)).toMatchObject({
      status: 0,
      stderr: `fieldwork-sync: ${warning}\n`,
    })
    // The accounts may be in that file.
    expect(runThere('plan')).toMatchObject({ status: 2, stderr: expect.stringContaining(`\n  ${warning}\n`) })
  },
)

test('where the working directory is gone, absolute paths work and a relative one is refused', async (context) => {
  const trial = await openSynced(context)
  const gone = await trial.temporary()
  const runThere = (...args: readonly string[]) =>
    spawnSync('sh', ['-c', 'rmdir "$PWD" 2>/dev/null; exec "$0" "$@"', process.execPath, MAIN, ...args], {
      cwd: gone,
      env: { ...trial.api.env, PATH: process.env.PATH },
      encoding: 'utf8',
    })
  expect(runThere('status', '--check', '--warehouse', trial.warehouse)).toMatchObject({
    status: 0,
    stderr: '',
  })
  await mkdir(gone)
  expect(runThere('plan', '--warehouse', trial.warehouse)).toMatchObject({ status: 0, stderr: '' })
  for (const args of [
    ['status'],
    ['report', '--out', 'r.html'],
    ['query', 'FROM surveys', '--out', 'x.csv'],
  ]) {
    await mkdir(gone)
    const { status, stderr } = runThere(...args)
    expect(status).toBe(2)
    expect(withEndLine(stderr)).toEqual({
      stderr:
        'fieldwork-sync: the working directory is gone (ENOENT). Change to another directory, and run the command again\n',
      end: expect.objectContaining({ exit_code: 2 }),
    })
  }
})
