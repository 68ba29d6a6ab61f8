import { describe, expect, test } from 'vitest'
import { startApi } from './support/api.js'

describe('/_reference/changes', () => {
  test('a list that is too long is refused with 400, and the error says what to do', async () => {
    await using api = await startApi({ surveys: 30_000 })
    const { status, json } = await api.control('/changes?from=2000-01-01T00:00:00Z&to=2026-03-01T00:00:00Z')
    expect(status).toBe(400)
    expect(json).toEqual({ error: expect.stringMatching(/the most is 200000: narrow the range$/) })
  })
})
