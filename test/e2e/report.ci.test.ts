/**
 * The report shows what the published file holds, number by number, in a real browser. No request leaves it, no text of the API can act in
 * it, and it needs no JavaScript.
 */
import { execFileSync } from 'node:child_process'
import { lstat, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { lastLine, openTrial, type Trial } from '../support/command/trial.js'
import { runWarm } from '../support/command/warm.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { HOSTILE, openReportWorld, RIGHT_TO_LEFT, SETTINGS } from '../support/report/report-world.js'

describe('the page', () => {
  let trial: Trial
  let file: string
  beforeAll(async () => {
    trial = await openReportWorld({ onTestFinished: atEndOfFile })
    file = join(trial.warehouse, 'report.html')
  })

  test('it is published beside the data, and the command writes the same from each state', async () => {
    const html = await readFile(file, 'utf8')
    const config = await trial.settings(SETTINGS)
    const out = join(await trial.temporary(), 'new', 'report.html')
    const written = await trial.runWarm(['report', '--out', out, ...config])
    expect(written).toMatchObject({ code: 0, stderr: '' })
    expect(lastLine(written)).toBe(`written to ${out}: open it in a browser`)
    expect(await readFile(out, 'utf8')).toBe(html)
    expect(html, 'explains what no row shows').not.toMatch(/<small>reconstructed|Reconstructed:/)
    // Parquet has no views, and the file of an older version lacks some of them.
    const moved = join(await trial.temporary(), 'moved.duckdb')
    await writeFile(moved, await readFile(trial.published))
    await rm(trial.published)
    try {
      const again = await trial.runWarm(['report', '--out', out, ...config, '--json'])
      expect(again).toMatchObject({ code: 0, stderr: '' })
      const bytes = Buffer.byteLength(html)
      expect(JSON.parse(again.stdout)).toMatchObject({ out, in_field: 5, sections: 6, bytes })
      expect(await readFile(out, 'utf8')).toBe(html)
    } finally {
      await writeFile(trial.published, await readFile(moved))
    }
  })

  test('another file in its place is not replaced', async () => {
    const out = join(await trial.temporary(), 'notes.html')
    await writeFile(out, '<!doctype html>\n<html lang="en">mine')
    expect(await trial.runWarm(['report', '--out', out])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--out ${out} exists and is no report. Name another file`),
    })
    expect(await readFile(out, 'utf8')).toContain('mine')
    const device = join(dirname(out), 'device')
    execFileSync('mkfifo', [device])
    expect(await trial.runWarm(['report', '--out', device])).toMatchObject({ code: 2 })
    expect((await lstat(device)).isFIFO()).toBe(true)
  })

  test('without another name it is ./report.html', async () => {
    const here = await trial.temporary()
    const ended = await runWarm(['report'], { FIELDWORK_SYNC_WAREHOUSE: trial.warehouse }, here)
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain(`written to ${join(here, 'report.html')}: `)
    expect((await lstat(join(here, 'report.html'))).isFile()).toBe(true)
  })

  test('texts of the API are only text', async () => {
    const html = await readFile(file, 'utf8')
    expect(html.match(/<script/g)).toHaveLength(1)
    const escaped = HOSTILE.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
    expect(html).toContain(escaped)
    expect(html.replaceAll(escaped, '')).not.toMatch(/<img|<link|<iframe|style=|\son[a-z]+=|url\(|@import/)
    expect(html).toMatch(
      /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'">/,
    )
    // A text from right to left, or one that overrides the direction, does not reverse the words after it.
    expect(html).toContain(`<del><bdi>${RIGHT_TO_LEFT}</bdi></del>`)
    expect(
      [...html.matchAll(/(?:src|href)="([^"]*)"/g)]
        .map(([, url]) => url)
        .filter((url) => !url?.startsWith('#')),
    ).toEqual([])
  })
})

test('a report alone is no published state', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  expect(await trial.runWarm(['sync', '--publish', 'report'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs duckdb or parquet beside report'),
  })
})
