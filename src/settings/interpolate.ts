/**
 * Replaces `${NAME}` in a value of the settings file by the environment variable NAME, and `$${` by a plain `${`. YAML is
 * parsed before, so no variable can change the structure of the file.
 */
import type { Environment } from './environment.js'
import { bad, good, type Read } from './readers.js'

const PLACE = /\$\$\{|\$\{([^}]*)(\})?/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Whether `text` contains a variable of the environment. */
export const isInterpolated = (text: string): boolean => text.replaceAll(`$\${`, '').includes(`\${`)

export const interpolate = (text: string, env: Environment): Read<string> => {
  const problems: string[] = []
  const value = text.replaceAll(PLACE, (place: string, name: string | undefined, end: string | undefined) => {
    if (place === `$\${`) return `\${`
    if (end === undefined || name === undefined || !NAME.test(name)) {
      problems.push(
        `has a \${ without the name of an environment variable and a }; write $\${ for a plain \${`,
      )
      return ''
    }
    const found = env[name]
    if (found === undefined) {
      problems.push(
        `needs the environment variable ${name}, which is not set; set it, or write $\${ for a plain \${`,
      )
    }
    return found ?? ''
  })
  return problems.length === 0 ? good(value) : bad([...new Set(problems)].join('; '))
}
