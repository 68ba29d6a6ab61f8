/** `accounts[].exclude`: an unknown status and an id that is none are reported with their line. */
import { expect, test } from 'vitest'
import { ACCOUNT, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const yamlWith = (exclude: string) => `${ACCOUNT}    exclude: ${exclude}\n`

test('without rules nothing is excluded, and each rule is a list', async () => {
  const exclude = async (yaml: string) => (await load({ yaml })).accounts[0]?.exclude
  expect(await exclude(ACCOUNT)).toEqual({ status: [], surveys: [], projects: [] })
  const rules = { status: ['complete', 'user_demo'], surveys: [4711, 0], projects: ['815', `O'Hara`] }
  expect(await exclude(yamlWith(JSON.stringify(rules)))).toEqual(rules)
})

test.each([
  ['{status: [compleet]}', '.status must name known status values, such as complete'],
  ['{status: complete}', '.status must be a list of status values, such as [draft], or []'],
  ['{surveys: [1, 4711x]}', '.surveys must be a list of survey ids, such as [4711, 4712]; item 2 is none'],
  ['{surveys: 4711}', '.surveys must be a list of survey ids, such as [4711, 4712]'],
  ['{surveys: [1, 1]}', '.surveys must name nothing twice'],
  [
    '{projects: [815]}',
    '.projects must be a list of project ids as text, such as ["815", "P-12"]; item 1 is none',
  ],
  ['{project: []}', '.project is not a setting; did you mean accounts[0].exclude.projects?'],
])('%s is reported with its line', async (value, problem) => {
  expect(await problemsOf({ yaml: yamlWith(value) })).toEqual([
    expect.stringContaining(`:6: accounts[0].exclude${problem}`),
  ])
})
