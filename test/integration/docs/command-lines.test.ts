/** Every command line and every settings file on a page is one that the command accepts. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { COMMANDS } from '../../../src/commands/table.js'
import { loadSettings } from '../../../src/settings/load-settings.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const PAGES = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...readdirSync(join(root, 'docs'), { encoding: 'utf8', recursive: true })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
].sort()

interface CommandLine {
  readonly page: string
  readonly command: string
  readonly flags: readonly string[]
}

/** Lines of code blocks and code in sentences: `fieldwork-sync COMMAND …`, up to a comment, pipe or redirection. */
const LINE =
  /(?:^ {4}(?:\$ )?|^\$ |^|`)(?:fieldwork-sync|node dist\/main\.js) ([a-z][a-z-]*)((?: (?!#|\||>|&)[^`\n]*?)?)(?=\s+(?:#|\||>|&)|`|$)/gm
const commandLinesOf = (page: string): readonly CommandLine[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(LINE)].map(([, command = '', rest = '']) => ({
    page,
    command,
    flags: rest.match(/(?<=\s)--[a-z-]+/g) ?? [],
  }))

const COMMAND_LINES = PAGES.flatMap(commandLinesOf)

// test/e2e/usage shows that --help describes each of them.
test('commands and flags of the pages exist', () => {
  const wrong = COMMAND_LINES.flatMap(({ page, command, flags }) => {
    const known = COMMANDS.find(({ name }) => name === command)
    if (known === undefined) return [`${page}: ${command}`]
    return flags
      .map((flag) => flag.replace(/^--(no-)?/, ''))
      .filter((flag) => flag !== 'help' && !(flag in known.flags) && !(`no-${flag}` in known.flags))
      .map((flag) => `${page}: ${command} --${flag}`)
  })
  expect(wrong).toEqual([])
  expect(COMMAND_LINES.length).toBeGreaterThan(50)
})

/** The blocks that a fence calls YAML, also those inside a list. */
const fencedYaml = (page: string): readonly string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

/** The blocks without a fence that begin with a key. */
const indentedYaml = (page: string): readonly string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/(?<=\n\n)(?: {4,}\S.*\n)+/g)]
    .map(([block]) => block.replaceAll(/^ {4}/gm, ''))
    .filter((block) => /^ *(?:- )?[\w.]+:(?: |\n)/.test(block))

test.each(
  PAGES.flatMap((page) => [...fencedYaml(page), ...indentedYaml(page)].map((block) => [page, block])),
)('the YAML on %s can be read: %s', (_, block) => {
  expect(() => parse(block)).not.toThrow()
})

test('a status of the CronJob needs only the change of the page', () => {
  const [, script = ''] =
    /sed '([^']+)'/.exec(readFileSync(join(root, 'docs/how-to/kubernetes.md'), 'utf8')) ?? []
  for (const name of ['cronjob', 'cronjob-bucket']) {
    const changed = execFileSync('sed', [script, join(root, `config/kubernetes/${name}.yaml`)], {
      encoding: 'utf8',
    })
    const { args } = parse(changed).spec.jobTemplate.spec.template.spec.containers[0]
    expect(args).toEqual(['status', '--config=/etc/fieldwork-sync/fieldwork-sync.yaml'])
  }
})

/** The settings files of the how-to pages: their YAML, but for the profile of dbt and the pages about schedulers. */
const settingsOf = (page: string): readonly (readonly [string, string])[] =>
  fencedYaml(page)
    .filter((text) => !text.startsWith('fieldwork_models:'))
    .map((text) => [page, text])

const SETTINGS = PAGES.filter((page) => /^docs\/how-to\/[\w-]+\.md$/.test(page)).flatMap(settingsOf)

const ADDRESSES = ['PING_START', 'PING_SUCCESS', 'PING_FAILURE', 'WEBHOOK', 'CHAT_WEBHOOK', 'TEAMS_WEBHOOK']

test.each(SETTINGS)('the settings on %s are accepted', async (_, text) => {
  expect(Object.keys(parse(text) as object).length).toBeGreaterThan(0)
  const settings = await loadSettings({
    env: {
      FIELDWORK_SYNC_CONFIG: '/settings.yaml',
      REDIS_URL: 'redis://127.0.0.1:6379',
      ...Object.fromEntries(ADDRESSES.map((name) => [name, 'https://ping.example/a'])),
      ...(text.includes('base_url')
        ? {}
        : {
            FIELDWORK_SYNC_BASE_URL: 'https://fieldwork.example.com/api/v1',
            FIELDWORK_SYNC_API_ID: '1',
            FIELDWORK_SYNC_API_TOKEN: 'a-token',
          }),
    },
    flags: {},
    withReports: true,
    signal: new AbortController().signal,
    readFile: (path) =>
      path === '/settings.yaml' ? text : path.includes('ping') ? 'https://ping.example/a' : 'a-token',
  })
  expect(settings.accounts.length).toBeGreaterThan(0)
})

test('pages have settings to copy', () => {
  expect(SETTINGS.length).toBeGreaterThan(3)
})
