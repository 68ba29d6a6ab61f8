import { describe, expect, test } from 'vitest'
import { startApi } from './support/api.js'

describe('API document, "Authentication"', () => {
  test('names, ids and tokens are derived from the seed', async () => {
    await using one = await startApi({ surveys: 1, accounts: 3, seed: 7 })
    await using same = await startApi({ surveys: 1, accounts: 3, seed: 7 })
    await using other = await startApi({ surveys: 1, accounts: 3, seed: 8 })
    expect(one.server.accounts.map(({ name }) => name)).toEqual(['default', 'account-2', 'account-3'])
    expect(same.server.accounts).toEqual(one.server.accounts)
    const tokens = [...one.server.accounts, ...other.server.accounts].map(({ token }) => token)
    expect(new Set(tokens).size).toBe(6)
    expect(one.server.accounts.every(({ id }) => Number.isSafeInteger(id))).toBe(true)
  })
})

describe('API document, "Endpoints"', () => {
  test('unknown paths are 404, as JSON', async () => {
    await using api = await startApi({ surveys: 1 })
    const unknown = ['', '/', '/survey', '/surveys/', '/surveys/1', '/surveys/1/quotas']
    for (const path of [...unknown, '/surveys/1/sample_sources/2']) {
      const { status, json } = await api.ask(path)
      expect([path, status, json]).toEqual([path, 404, { error: expect.any(String) }])
    }
    expect((await api.fetchText(`${api.server.origin}/elsewhere`)).status).toBe(404)
  })

  test('every answer is JSON, has the world’s time as `Date`, and is compressed when it is long and the client allows it', async () => {
    await using api = await startApi({ surveys: 60 })
    const urls = ['/surveys', '/surveys?page=0', '/surveys/1/sample_sources', '/nowhere', '/surveys/%zz']
    for (const url of urls) {
      const { headers } = await api.ask(url)
      expect(headers.get('date')).toBe('Sun, 01 Mar 2026 00:00:00 GMT')
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
    const anonymous = await api.fetchText(`${api.server.baseUrl}/surveys`)
    expect(anonymous.headers.get('date')).toBe('Sun, 01 Mar 2026 00:00:00 GMT')
    const encoding = async (path: string, accepted: string) => {
      const headers = { ...api.credentials(), 'accept-encoding': accepted }
      const answer = await api.fetchText(`${api.server.baseUrl}${path}`, { headers })
      return [answer.headers.get('content-encoding'), answer.text]
    }
    const [plain, text] = await encoding('/surveys', 'identity')
    expect(plain).toBeNull()
    expect(await encoding('/surveys', 'br, gzip;q=0.8')).toEqual(['gzip', text])
    expect((await encoding('/surveys', 'gzip;q=0'))[0]).toBeNull()
    expect((await encoding('/surveys/1/sample_sources', 'gzip'))[0]).toBeNull()
  })
})
