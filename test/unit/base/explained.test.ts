import { readFile, stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ExpectedError } from '../../../src/base/errors.js'
import { explained } from '../../../src/base/explained.js'
import { reportError } from '../../../src/commands/report-error.js'

const thrownBy = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}

test.each([
  [
    'a directory where a file is expected',
    () => readFile('/'),
    'EISDIR: illegal operation on a directory, read',
  ],
  ['a name that is too long', () => stat('x'.repeat(300)), /^ENAMETOOLONG: name too long, stat 'x+'$/],
] as const)('what the system refuses is no bug: %s', async (_, work, reason) => {
  const error = await thrownBy(work)
  const { exitCode, text, json } = reportError(error)
  expect({ exitCode, code: json.error.code }).toEqual({ exitCode: 7, code: 'system_refused' })
  const [, quoted] = /^fieldwork-sync: the system refused: (.*)\. Check the path/.exec(text) ?? []
  expect(quoted).toEqual(typeof reason === 'string' ? reason : expect.stringMatching(reason))
})

test('a missing package is none, and a mistake of ours stays a bug', () => {
  expect(explained(Object.assign(new Error('Cannot find'), { code: 'ERR_MODULE_NOT_FOUND' }))).toMatchObject({
    code: 'installation_incomplete',
  })
  const own = new ExpectedError('usage', 'x')
  expect(explained(own)).toBe(own)
  for (const bug of [
    new TypeError('x'),
    new ReferenceError('x'),
    Object.assign(new Error('x'), { code: 'EBADF', syscall: 'read' }),
  ])
    expect(explained(bug)).toBe(bug)
})
