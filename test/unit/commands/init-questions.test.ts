import { expect, test } from 'vitest'
import { looksLikeToken } from '../../../src/commands/init/questions.js'

test.each([
  '853fd2b316164648b3e9a0f7123aecf0fdccba19',
  '0b9f7c52-3a41-4a55-9a0e-8f4b0d2c11aa',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N',
  'tok-7b1e-SECRET-42',
  'KdhQpWmZxRtYvBnLsGfA',
])('%s looks like a token', (text) => {
  expect(looksLikeToken(text)).toBe(true)
})

test.each([
  'token',
  'fieldwork-token',
  'fieldwork-sync-token-of-acme',
  'token2',
  './853fd2b316164648b3e9a0f7123aecf0fdccba19',
  '/run/secrets/853fd2b316164648b3e9',
  '~',
  'fieldwork-token-2026.txt',
  'warehouse',
])('%s is a path', (text) => {
  expect(looksLikeToken(text)).toBe(false)
})
