import { describe, expect, test } from 'vitest'
import { startApi } from './support/api.js'

describe('API document, "Authentication"', () => {
  test('every endpoint answers 401 unless both headers are sent and belong together', async () => {
    await using api = await startApi({ surveys: 3, accounts: 2 })
    const { 'Authorization-ID': id, 'Authorization-Token': token } = api.credentials(0)
    const other = api.credentials(1)
    const wrong: Record<string, string>[] = [
      {},
      { 'Authorization-ID': id! },
      { 'Authorization-Token': token! },
      { 'Authorization-ID': id!, 'Authorization-Token': '' },
      { 'Authorization-ID': id!, 'Authorization-Token': `${token}x` },
      { 'Authorization-ID': id!, 'Authorization-Token': other['Authorization-Token']! },
      { 'Authorization-ID': other['Authorization-ID']!, 'Authorization-Token': token! },
      { 'Authorization-ID': `0${id}`, 'Authorization-Token': token! },
      { 'Authorization-ID': 'me', 'Authorization-Token': token! },
    ]
    const survey = (await api.readSurveys()).surveys[0]!
    for (const headers of wrong) {
      for (const path of [
        '/surveys',
        `/surveys/${survey.id}/sample_sources`,
        `/surveys/${survey.id}/fieldwork_progress`,
      ]) {
        const { status, json } = await api.fetchText(`${api.server.baseUrl}${path}`, { headers })
        expect(status).toBe(401)
        expect(json).toEqual({ error: expect.any(String) })
      }
    }
  })

  test('an account gets the same 404 for a survey of another account as for one that does not exist', async () => {
    await using api = await startApi({ surveys: 20, accounts: 3 })
    const worlds = await Promise.all(
      [0, 1, 2].map(async (account) => (await api.readSurveys('', account)).surveys),
    )
    const ids = worlds.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(60)
    const organizations = worlds.map((surveys) => new Set(surveys.map((one) => one.owner_organization_id)))
    expect(organizations.map(({ size }) => size)).toEqual([1, 1, 1])
    expect(new Set(organizations.flatMap((one) => [...one])).size).toBe(3)
    const foreign = worlds[0]![0]!.id
    for (const endpoint of ['sample_sources', 'fieldwork_progress']) {
      expect((await api.ask(`/surveys/${foreign}/${endpoint}`, 0)).status).toBe(200)
      const answer = await api.ask(`/surveys/${foreign}/${endpoint}`, 1)
      const never = await api.ask(`/surveys/424242424242/${endpoint}`, 1)
      expect([answer.status, answer.text]).toEqual([404, never.text])
      expect(never.status).toBe(404)
    }
  })

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
  test('methods other than GET are 405 and unknown paths are 404, as JSON', async () => {
    await using api = await startApi({ surveys: 1 })
    const headers = api.credentials()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of ['/surveys', '/surveys/1/sample_sources', '/surveys/1/fieldwork_progress?x=1']) {
        const answer = await api.fetchText(`${api.server.baseUrl}${path}`, { method, headers })
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
        expect(answer.json).toEqual({ error: expect.any(String) })
      }
    }
    for (const path of [
      '',
      '/',
      '/survey',
      '/surveys/',
      '/surveys/1',
      '/surveys/1/quotas',
      '/surveys/1/sample_sources/2',
    ]) {
      const answer = await api.ask(path)
      expect([path, answer.status]).toEqual([path, 404])
      expect(answer.json).toEqual({ error: expect.any(String) })
    }
    expect((await api.fetchText(`${api.server.origin}/elsewhere`)).status).toBe(404)
    expect((await api.ask('/surveys/%zz/sample_sources')).status).toBe(400)
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
