/** Names of the files that the client keeps for an account beside the warehouse. */
import { createHash } from 'node:crypto'

/** `prefix-account.ending`, or with a digest where the account's name could lead out of the directory: names that differ stay so. */
export const accountFileName = (prefix: string, account: string, ending: string): string => {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(account)) return `${prefix}-${account}.${ending}`
  const readable = account.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, 40)
  const digest = createHash('sha256').update(account).digest('hex').slice(0, 12)
  return `${prefix}-${readable}.${digest}.${ending}`
}
