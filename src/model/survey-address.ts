/** Where people open a survey in the service: the setting `report.survey_url`, such as `https://survey.example.com/surveys/{hashid}`. */

export const HASHID = '{hashid}'

/** `hashid` comes from the API, so only letters, digits, `-` and `_` of it stand in the address as they are. */
export const surveyAddress = (pattern: string, hashid: string): string =>
  pattern.replaceAll(HASHID, () => hashid.replaceAll(/[^\w-]/gu, (character) => encoded(character)))

const encoded = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
