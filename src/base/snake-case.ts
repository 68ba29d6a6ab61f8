/** The name of a column or JSON key: `surveysListed` becomes `surveys_listed`. A name in snake_case stays the same. */
export const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
