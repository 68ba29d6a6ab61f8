/** docs/images/run.svg shows the run of the tutorial's second sync, and report.png the report. `npm run picture` draws both anew. */
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isShown, partsOf } from './console-page.js'

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url))
const picture = readFileSync(`${docs}images/run.svg`, 'utf8')
const commands = partsOf(readFileSync(`${docs}tutorial.md`, 'utf8')).filter((part) => part.kind === 'command')
const BYTES_MAX = 40_000
const REPORT_BYTES_MAX = 150_000

/** The texts of the picture, from the top. */
const lines = [...picture.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, text = '']) =>
  text
    .replace(/<[^>]+>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&'),
)

test('the picture shows what the tutorial shows', () => {
  const second = commands.filter(({ line }) => line === 'node dist/main.js sync')[1]
  const shown = (second?.shown ?? []).filter((line) => line !== '')
  expect(shown.length).toBeGreaterThan(10)
  expect(lines[0]).toBe('$ fieldwork-sync sync')
  expect(isShown(shown, lines.slice(1)), lines.join('\n')).toBe(true)
})

test('the picture is small, has colours for light and dark, and loads nothing', () => {
  expect(Buffer.byteLength(picture)).toBeLessThan(BYTES_MAX)
  expect(picture).toContain('prefers-color-scheme: dark')
  expect(picture).not.toMatch(/href|url\(|@import|<script/)
})

test('the picture of the report is small enough for the README', () => {
  expect(statSync(`${docs}images/report.png`).size).toBeLessThan(REPORT_BYTES_MAX)
})
