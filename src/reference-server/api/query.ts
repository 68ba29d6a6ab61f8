/**
 * Parses query parameters by their declarations. An invalid parameter is refused with 400 and not ignored, so that a
 * client never gets the answer to another request than it meant. Parameters that are not declared are ignored.
 */
import type { z } from 'zod'
import { Refusal } from './refusal.js'

const BAD_REQUEST = 400
/** An error shows at most so many characters of a value. */
const QUOTED_CHARACTERS_MAX = 100

/** The values of `query`, parsed by `declared`. A name that ends in `[]` may be given several times. */
export const readQuery = <Query extends z.ZodObject>(
  declared: Query,
  query: URLSearchParams,
): z.output<Query> => {
  const given = Object.fromEntries(Object.keys(declared.shape).map((name) => [name, textsOf(query, name)]))
  const result = declared.safeParse(given)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const [name = '', place = 0] = issue?.path ?? []
  const text = [given[String(name)]].flat()[Number(place)]
  const found = text === undefined ? 'missing' : quote(text)
  throw new Refusal(BAD_REQUEST, `${bare(String(name))} is ${found}: ${issue?.message}`)
}

const textsOf = (query: URLSearchParams, name: string): string | readonly string[] | undefined => {
  const texts = query.getAll(name)
  if (isList(name)) return texts.length === 0 ? undefined : texts
  if (texts.length <= 1) return texts[0]
  const hint = name === 'status' ? '; several statuses are given as status[]' : ''
  throw new Refusal(BAD_REQUEST, `${name} is given ${texts.length} times: give it once${hint}`)
}

const isList = (name: string): boolean => name.endsWith('[]')

const bare = (name: string): string => (isList(name) ? name.slice(0, -2) : name)

const quote = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARACTERS_MAX))
