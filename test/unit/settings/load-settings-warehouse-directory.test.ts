/** The paths that a warehouse may have. test/e2e/paths.test.ts tests them with DuckDB. */
import { expect, test, vi } from 'vitest'
import { ACCOUNT, ACCOUNT_ENV, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const directoryOf = async (path: string) =>
  (await load({ env: { ...ACCOUNT_ENV, FIELDWORK_SYNC_WAREHOUSE: path } })).warehouseDirectory

test.each([
  ['data', `${process.cwd()}/data`],
  ['data/', `${process.cwd()}/data`],
  ['/data//a/../b/', '/data/b'],
  [' data', `${process.cwd()}/ data`],
  [':memory:', `${process.cwd()}/:memory:`],
  ['a#b%20c*[d]', `${process.cwd()}/a#b%20c*[d]`],
  ['s3:', `${process.cwd()}/s3:`],
])('%j means the directory %j', async (path, directory) => {
  expect(await directoryOf(path)).toBe(directory)
})

test.each(['s3://bucket/x', 'S3://bucket', 'file:///data', 'https://example.org/x', 'gs://b?c'])(
  '%s is refused because it is an address',
  async (path) => {
    expect(await problemsOf({ env: { ...ACCOUNT_ENV, FIELDWORK_SYNC_WAREHOUSE: path } })).toEqual([
      `FIELDWORK_SYNC_WAREHOUSE: must be a directory of this machine, not an address such as "${path}". For a bucket, set storage.url`,
    ])
  },
)

const QUESTION_MARK =
  'must not have a "?" in its path, which is "/work/a?b": DuckDB cannot open a file there. Give another directory'

test('a question mark in the path is refused from a flag and from the file', async () => {
  expect(await problemsOf({ env: ACCOUNT_ENV, flags: { warehouse: '/work/a?b' } })).toEqual([
    `--warehouse: ${QUESTION_MARK}`,
  ])
  expect(await problemsOf({ yaml: `${ACCOUNT}warehouse:\n  directory: /work/a?b\n` })).toEqual([
    `settings.yaml:7: warehouse.directory ${QUESTION_MARK}`,
  ])
})

test('a question mark in the working directory is refused for commands that have a warehouse', async ({
  onTestFinished,
}) => {
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue('/a?b')
  onTestFinished(() => cwd.mockRestore())
  const situation = { env: ACCOUNT_ENV }
  expect(await problemsOf(situation)).toEqual([expect.stringContaining('which is "/a?b/warehouse"')])
  expect(await problemsOf({ ...situation, oneAccount: true })).toEqual([])
})

test('a flag replaces a variable that would be refused', async () => {
  const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_WAREHOUSE: 'a?b' }
  expect((await load({ env, flags: { warehouse: 'ok' } })).warehouseDirectory).toBe(`${process.cwd()}/ok`)
})
