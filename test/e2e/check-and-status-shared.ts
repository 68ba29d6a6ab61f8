/** What `check-and-status.ci.test.ts` and its full companion share. */
import { type ScriptedApi, TOKEN } from '../support/api/scripted-api.js'

/** For `map`. The caps of accounts with different ids are apart. */
export const accountOf =
  ({ baseUrl }: ScriptedApi) =>
  (name: string, place: number) => ({ name, id: place + 1, token: TOKEN, base_url: baseUrl })
