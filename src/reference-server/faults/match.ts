/** Decides whether a fault matches a request. */
import type { FaultMatch } from './declaration.js'
import { matchesPath } from './path-pattern.js'

/** A request that has passed the checks of path, method, credentials and cap. */
export interface ServedRequest {
  /** Name of the account. */
  readonly account: string
  /** With `/api/v1`, as it was sent. */
  readonly path: string
  readonly query: URLSearchParams
  /** Whether the answer is one page of a list. */
  readonly paged: boolean
}

/** `number` is the request's place, from 1, among all that reached the faults. All declared parts must hold. */
export const matches = (match: FaultMatch, request: ServedRequest, number: number): boolean => {
  const { path, account, page, query = {} } = match
  return (
    (path === undefined || matchesPath(path, request.path)) &&
    (account === undefined || account === request.account) &&
    (page === undefined || page === pageOf(request)) &&
    (match.request === undefined || match.request === number) &&
    Object.entries(query).every(([name, text]) => request.query.getAll(name).includes(text))
  )
}

/** The requested page; null where there are no pages, or where the parameter is ambiguous or invalid. */
const pageOf = ({ paged, query }: ServedRequest): number | null => {
  if (!paged) return null
  const [text = '1', ...others] = query.getAll('page')
  return others.length === 0 && /^[1-9]\d*$/.test(text) ? Number(text) : null
}
