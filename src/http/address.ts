/** Builds the URL of a request from base address, path and query, and the label that messages show for it. */
export interface Address {
  readonly origin: string
  readonly target: string
  /** As in `GET /api/v1/surveys?page=2`. */
  readonly label: string
  readonly host: string
}

/** `path` is below the base address, with or without a slash in front. */
export const addressOf = (
  base: URL,
  path: string,
  query: readonly (readonly [string, string])[],
): Address => {
  const pathname = `${base.pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`
  const parameters = new URLSearchParams()
  for (const [name, value] of query) parameters.append(name, value)
  const search = parameters.toString()
  const target = search === '' ? pathname : `${pathname}?${search}`
  return { origin: base.origin, target, label: `GET ${target}`, host: base.host }
}

/** The host in a `Location` header, without credentials; null if the header is missing or has no host. */
export const locationHost = (location: string | null, from: Address): string | null => {
  if (location === null || !URL.canParse(location, from.origin)) return null
  return new URL(location, from.origin).host || null
}
