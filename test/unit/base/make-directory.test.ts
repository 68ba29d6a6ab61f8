/** `makeDirectory` makes a directory or fails with the system's error code, also where Node's recursive `mkdir` never returns. */
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDirectory } from '../../../src/base/make-directory.js'
import { temporaryDirectory } from '../../support/files/temporary.js'

test('it makes missing directories and accepts existing ones', async () => {
  const path = join(await temporaryDirectory(), 'a', 'b', 'c')
  await makeDirectory(path)
  await makeDirectory(path)
  expect((await stat(path)).isDirectory()).toBe(true)
})

test('concurrent calls can make the same directory', async () => {
  const directory = await temporaryDirectory()
  for (const time of Array.from({ length: 200 }).keys()) {
    const path = join(directory, String(time), 'b', 'c')
    await Promise.all([1, 2, 3].map(() => makeDirectory(path)))
    expect((await stat(path)).isDirectory()).toBe(true)
  }
})

test('it follows a link to a directory and refuses a broken link', async () => {
  const directory = await temporaryDirectory()
  await mkdir(join(directory, 'real'))
  await symlink(join(directory, 'real'), join(directory, 'link'))
  await symlink(join(directory, 'nowhere'), join(directory, 'broken'))
  await makeDirectory(join(directory, 'link'))
  await makeDirectory(join(directory, 'link', 'below'))
  expect((await stat(join(directory, 'real', 'below'))).isDirectory()).toBe(true)
  await expect(makeDirectory(join(directory, 'broken'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeDirectory(join(directory, 'broken', 'below'))).rejects.toMatchObject({ code: 'EEXIST' })
})

test('it refuses a file and any path below a file', async () => {
  const file = join(await temporaryDirectory(), 'file')
  await writeFile(file, '')
  await expect(makeDirectory(file)).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeDirectory(join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.runIf(process.platform === 'linux').each([
  ['/proc/x', 'ENOENT'],
  ['/proc/x/y/z', 'ENOENT'],
  ['/proc/self/fd/x', 'ENOENT'],
  ['/dev/null', 'EEXIST'],
  ['/dev/full/x', 'ENOTDIR'],
])('making %s fails with %s', async (path, code) => {
  await expect(makeDirectory(path)).rejects.toMatchObject({ code })
})
