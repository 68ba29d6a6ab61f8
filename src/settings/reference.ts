/**
 * The settings reference, docs/reference/settings.md, derived from the schema and the list of environment variables. So the
 * page cannot promise a key or a default that does not exist.
 */
import { markdownTable } from '../base/human.js'
import { settingKeys } from './keys.js'
import { ENVIRONMENT_VARIABLES } from './names.js'
import { PROXY_VARIABLES } from './proxies.js'
import { STORAGE_VARIABLES } from './storage.js'

/** The settings reference in Markdown: a table of the file's keys and a table of environment variables. */
export const settingsReference = (): string =>
  [
    markdownTable(
      ['Key', 'Type', 'Default', 'Meaning'],
      settingKeys().map(({ path, valueType, defaultText, meaning }) => [
        `\`${path}\``,
        valueType,
        defaultText === null ? '' : `\`${defaultText}\``,
        meaning,
      ]),
    ),
    markdownTable(
      ['Environment variable', 'Sets', 'Meaning'],
      [...ENVIRONMENT_VARIABLES, ...STORAGE_VARIABLES, ...PROXY_VARIABLES].map(({ name, sets, meaning }) => [
        `\`${name}\``,
        sets,
        meaning,
      ]),
    ),
  ].join('\n')
