/** Names of TypeScript as columns and JSON write them. */

/** `surveysListed` becomes `surveys_listed`. A name that is in snake_case already stays as it is. */
export const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
