/** Turns names of TypeScript into names of columns and JSON keys. */

/** `surveysListed` becomes `surveys_listed`. A name in snake_case stays the same. */
export const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
