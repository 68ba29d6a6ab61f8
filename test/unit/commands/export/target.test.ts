/** Who may not enter the directory of an export may not enter the one that will replace it either. */
import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ExportManifest, replaceDirectory } from '../../../../src/commands/export/target.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'

const MANIFEST: ExportManifest = {
  fieldwork_sync_export: 1,
  program: 'test',
  exported_at: '2026-03-01T00:00:00.000Z',
  source: '/warehouse/fieldwork.duckdb',
  run_id: null,
  format: 'csv',
  bom: false,
  rows: 0,
  tables: [],
}

test('a directory that is closed to others stays closed while it is replaced', async () => {
  const out = join(await temporaryDirectory(), 'out')
  await mkdir(out)
  await chmod(out, 0o700)
  let mode = 0
  await replaceDirectory(out, async (directory) => {
    mode = (await stat(directory)).mode
    return MANIFEST
  })
  expect((mode & 0o077).toString(8)).toBe('0')
  expect(((await stat(out)).mode & 0o777).toString(8)).toBe('700')
})
