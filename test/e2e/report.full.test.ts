/**
 * The report shows what the published file holds, number by number, in a real browser. No request leaves it, no text of the API can act in
 * it, and it needs no JavaScript.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { NO_ACCOUNT, refusing, scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'
import { atEndOfFile } from '../support/files/temporary.js'
import { envOf } from '../support/oracle/rate.js'
import { openWorld } from '../support/oracle/truth.js'
import { type ChromiumPage, openInChromium } from '../support/process/chromium.js'
import { compareWithQueries } from '../support/report/page-parts.js'
import { openReportWorld, RIGHT_TO_LEFT, SETTINGS, TITLE } from '../support/report/report-world.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { some } from '../support/suite/cases.js'
import { lacks } from '../support/suite/lacks.js'
import { query } from '../support/warehouse/duckdb.js'

const openPage = async (file: string, anchor = ''): Promise<ChromiumPage> => {
  const page = await openInChromium(`${pathToFileURL(file)}${anchor}`)
  await page.waitFor(`document.readyState === 'complete' && document.querySelector('footer')`)
  return page
}

describe('the page', () => {
  let trial: Trial
  let file: string
  beforeAll(async () => {
    trial = await openReportWorld({ onTestFinished: atEndOfFile })
    file = join(trial.warehouse, 'report.html')
  })

  describe.skipIf(lacks('chromium'))('in Chromium', () => {
    test('every number equals a query, what needs action comes first, axe finds no violation, and no request leaves', async () => {
      await using page = await openPage(file)
      expect(await compareWithQueries(page, trial.published, SETTINGS.time_zone)).toBeGreaterThan(25)
      expect(page.requests).toEqual([`${pathToFileURL(file)}`])
      expect(page.problems).toEqual([])
      expect(await page.waitFor('document.title')).toBe(`${TITLE}, 6 Mar 2026`)
      expect(await page.waitFor(`document.querySelector('a bdi').getClientRects().length`)).toBe(1)
      expect(await violations(page)).toEqual([])
      // Survey 2 stands still, survey 7 gains 1 a night, and the three others gain 12, as does survey 5, which ended.
      expect(await page.waitFor(`document.querySelector('.figures div:nth-child(3)').textContent`)).toMatch(
        /^Gained since yesterday\+49 /,
      )
      // One row per survey, the most urgent first, and of two equally urgent ones that which is due first.
      const chips = await page.waitFor(
        `[...document.querySelectorAll('.today li')].map((row) => [row.querySelector('a').hash, ...[...row.querySelectorAll('.chip')].map(({ textContent }) => textContent)])`,
      )
      expect(chips).toEqual([
        // It is quiet, so that only the due date is named.
        ['#default/7', 'was due 1 March, 195 missing'],
        // Its incidence fell from 100 % to 80 %, but had too few interviews before.
        ['#default/1', 'due 7 March, expected 16 March: needs 64.5 a day, has 12'],
        [
          ...['#default/2', 'due 1 March 2027, stands still: needs 0.5 a day'],
          'no complete interview for at least 5 days',
          'drop-out from 0% to 25%',
        ],
        ['#default/3', 'paused for 2 days', 'due 31 December, paused: needs 0.5 a day, had 12'],
        // The source that gains is full before the target is reached.
        ['#default/4', 'target out of sight', '1 source trails its survey, by 35 interviews'],
      ])
      // Without a forecast: the paused one, and the one that stands still. Then the furthest from its target.
      expect(
        await page.waitFor(
          `[...document.querySelectorAll('.field tbody th')].map((cell) => cell.querySelector('a').hash)`,
        ),
      ).toEqual([2, 3, 4, 7, 1].map((id) => `#default/${id}`))
      await page.waitFor(
        `(location.hash = '#default/2', getComputedStyle(document.querySelector('.survey:target')).display === 'block')`,
      )
      expect(
        await page.waitFor(
          `[getComputedStyle(document.querySelector('.overview')).display, document.querySelector('.survey:target h2').textContent]`,
        ),
      ).toEqual(['none', RIGHT_TO_LEFT])
      // Its target is around the survey, so it would leave the survey.
      expect(await page.waitFor(`getComputedStyle(document.querySelector('.skip')).display`)).toBe('none')
      await page.waitFor(
        `(location.hash = '#field', getComputedStyle(document.querySelector('.overview')).display === 'block')`,
      )
    })
  })

  describe.skipIf(lacks('chromium'))('in Chromium, in every form', () => {
    test.each([
      ['wide', 'dark'],
      ['phone', 'light'],
      ['phone', 'dark'],
    ])('axe finds no violation: %s, %s', async (width, scheme) => {
      for (const anchor of ['', '#default/1']) {
        await using page = await openPage(file, anchor)
        await page.tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
        if (width === 'phone') await page.tab.setViewport(PHONE)
        expect(await violations(page)).toEqual([])
        const tooWide = `[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > ${width === 'phone' ? 391 : 1201} && one.closest('pre, caption, .skip') === null).map(({ outerHTML }) => outerHTML.slice(0, 120))`
        expect(await page.waitFor(tooWide)).toEqual([])
      }
    })

    test('without JavaScript, everything is there', async () => {
      await using page = await openInChromium('about:blank')
      await page.tab.setJavaScriptEnabled(false)
      await page.tab.goto(`${pathToFileURL(file)}#default/1`)
      const chart = await page.tab.$('.survey:target .chart')
      const { width = 0, height = 0 } = (await chart?.boundingBox()) ?? {}
      expect(width).toBeGreaterThan(800)
      expect(height).toBeGreaterThan(200)
    })

    test('it can be filtered, sorted and read out by keyboard, and SQL can be copied', async () => {
      await using page = await openPage(file)
      const titles = `[...document.querySelectorAll('.field tbody tr:not([hidden]) th')].map(({ textContent }) => textContent.slice(0, 8))`
      const all = (await page.waitFor(titles)) as string[]
      await page.waitFor(
        `(document.querySelector('.tools input').focus(), document.activeElement.type === 'search')`,
      )
      await page.tab.keyboard.type('survey 3')
      expect(await page.waitFor(titles)).toEqual(['Survey 3'])
      expect(await page.waitFor(`document.querySelector('.tools output').textContent`)).toBe('1 of 5')
      await page.waitFor(
        `(document.querySelector('.tools input').value = '', document.querySelector('.tools input').dispatchEvent(new Event('input')))`,
      )
      const rates = `[...document.querySelectorAll('.field tbody td:nth-child(2) b')].map(({ textContent }) => parseInt(textContent))`
      await page.waitFor(
        `(document.querySelectorAll('.field th button')[1].focus(), document.activeElement.textContent === 'Complete')`,
      )
      await page.tab.keyboard.press('Enter')
      const up = (await page.waitFor(rates)) as number[]
      expect(up).toEqual(up.toSorted((one, other) => one - other))
      await page.tab.keyboard.press('Enter')
      expect(await page.waitFor(rates)).toEqual(up.toReversed())
      expect(await page.waitFor(`document.querySelectorAll('.field th')[1].getAttribute('aria-sort')`)).toBe(
        'descending',
      )
      expect(all).toHaveLength(5)
      await page.waitFor(`(location.hash = '#default/1', document.querySelector('.survey:target'))`)
      await page.waitFor(
        `(document.querySelector('.survey:target .chart').focus(), document.activeElement.className.baseVal === 'chart')`,
      )
      await page.tab.keyboard.press('ArrowLeft')
      const readOut = `document.querySelector('.survey:target .read-out').textContent`
      expect(await page.waitFor(readOut)).toBe('5 Mar 2026: 71 complete interviews')
      await page.tab.keyboard.press('ArrowLeft')
      expect(await page.waitFor(readOut)).toBe('4 Mar 2026: 59 complete interviews')
      await page.waitFor(
        `(location.hash = '#action', getComputedStyle(document.querySelector('#action .sql')).display === 'none')`,
      )
      await page.waitFor(
        `(document.querySelector('#queries').click(), getComputedStyle(document.querySelector('#action .sql')).display === 'block')`,
      )
      await page.waitFor(
        `(document.querySelector('#action .copy').click(), /Copied|Selected/.test(document.querySelector('#action .copy').textContent))`,
      )
      expect(page.problems).toEqual([])
    })

    test('links and buttons can be reached by keyboard in the order of the page', async () => {
      await using page = await openPage(file)
      const stops: string[] = []
      for (let stop = 0; stop < 9; stop += 1) {
        await page.tab.keyboard.press('Tab')
        stops.push(String(await page.waitFor('document.activeElement.textContent')))
      }
      const links = ['Skip to the report', 'Today', 'In the field', 'What changed', 'The run']
      expect(stops.slice(0, 5)).toEqual(links)
      // Rows that open.
      expect(stops[5]).toContain('was due 1 March')
      expect(stops[6]).toContain('due 7 March')
    })

    test('it prints to A4, the overview and a survey', async () => {
      for (const anchor of ['', '#default/1']) {
        await using page = await openPage(file, anchor)
        const pdf = await printed(page)
        expect(pdf.toString('latin1')).toMatch(/\/MediaBox \[0 0 59[45][.\d]* 84[12]/)
      }
    })
  })
})

describe.skipIf(lacks('chromium'))('in the world of the demo', () => {
  let trial: Trial
  let file: string
  /** The database and the page of each night. */
  const nights: { readonly published: string; readonly report: string }[] = []
  beforeAll(async () => {
    await using server = await startWorld({ seed: 6, surveys: 60 })
    trial = await openTrial({ onTestFinished: atEndOfFile })
    file = join(trial.warehouse, 'report.html')
    const config = await trial.settings(SETTINGS)
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: '1000/1s' }
    for (let night = 0; night < 10; night += 1) {
      if (night > 0) await openWorld(server).advance('P1D')
      const sync = ['sync', ...config, '--publish', 'duckdb,report', '--log-level', 'warn']
      expect(await trial.runWarm(sync, env)).toMatchObject({ code: 0 })
      const kept = await trial.temporary()
      const copies = { published: join(kept, 'fieldwork.duckdb'), report: join(kept, 'report.html') }
      await copyFile(trial.published, copies.published)
      await copyFile(file, copies.report)
      nights.push(copies)
    }
  })

  test('on each of ten nights every number equals a query, and its rows of Today are those of needs_action', async () => {
    for (const [night, { published, report }] of nights.entries()) {
      await using page = await openPage(report)
      const compared = await compareWithQueries(page, published, SETTINGS.time_zone)
      expect(compared).toBeGreaterThan(night < 2 ? 10 : 100)
      const surveys = await query(
        published,
        'SELECT count(DISTINCT (account, survey_id)) AS n FROM needs_action',
      )
      const rows = await page.waitFor(`document.querySelectorAll('.today li').length || '0'`)
      expect([{ n: Number(rows) }], `night ${night}`).toEqual(surveys)
      expect(page.problems).toEqual([])
    }
    await using last = await openPage(file)
    expect(await violations(last)).toEqual([])
  })

  test('eight rows of Today fit on a laptop, and eight surveys are at most 4,000 pixels high on a phone', async () => {
    await using page = await openPage(file)
    await page.tab.setViewport(LAPTOP)
    const rows = `[...document.querySelectorAll('.today li')].map((row) => row.getBoundingClientRect())`
    const eight = `${rows}[0].top + 8 * Math.max(...${rows}.map(({ height }) => height))`
    expect(await page.waitFor(eight)).toBeLessThanOrEqual(LAPTOP.height)
    expect(await page.waitFor(`document.querySelectorAll('.field tbody tr').length`)).toBe(8)
    await page.tab.setViewport(PHONE)
    expect(await page.waitFor(`document.documentElement.scrollHeight`)).toBeLessThanOrEqual(4_000)
  })

  test('on a phone no text lies over another, in the overview with all rows open and in each survey', async () => {
    await using page = await openPage(file)
    await page.tab.setViewport(PHONE)
    await page.waitFor(
      `([...document.querySelectorAll('details')].forEach((one) => { one.open = true }), document.querySelector('.more[open]'))`,
    )
    expect(JSON.stringify(await page.waitFor(OVERLAPS))).toEqual('[]')
    const surveys = (await page.waitFor(
      `[...document.querySelectorAll('.survey')].map(({ id }) => id)`,
    )) as string[]
    for (const id of some(surveys, 3)) {
      await page.waitFor(
        `(location.hash = ${JSON.stringify(`#${id}`)}, getComputedStyle(document.querySelector('.survey:target')).display === 'block')`,
      )
      expect(await page.waitFor(OVERLAPS), id).toEqual([])
    }
  })

  test('the figures of a survey stand in columns', async () => {
    await using page = await openPage(file)
    const id = await page.waitFor(`document.querySelector('.today a').hash`)
    await page.waitFor(`(location.hash = ${JSON.stringify(id)}, document.querySelector('.survey:target'))`)
    const lefts = `[...document.querySelectorAll('.survey:target .figures > div')].map((one) => Math.round(one.getBoundingClientRect().left))`
    for (const [width, columns] of [
      [1_400, 6],
      [1_024, 4],
      [390, 2],
    ] as const) {
      await page.tab.setViewport({ width, height: 900 })
      const found = (await page.waitFor(lefts)) as number[]
      expect(found.length).toBeGreaterThanOrEqual(6)
      expect(new Set(found).size, `${width}`).toBe(width === 1_400 ? found.length : columns)
    }
  })

  test('the head of the table shows how it is sorted, before and after a click', async () => {
    await using page = await openPage(file)
    const sorted = `[...document.querySelectorAll('.field th[aria-sort]')].map((one) => [one.textContent, one.getAttribute('aria-sort'), getComputedStyle(one.querySelector('button'), '::after').content])`
    const sentence = `[...document.querySelectorAll('#field > .rule:not([hidden])')].filter(({ textContent }) => textContent.startsWith('Those without')).length + ' shown'`
    expect(await page.waitFor(sorted)).toEqual([['Forecast', 'descending', '" ↓"']])
    expect(await page.waitFor(sentence)).toBe('1 shown')
    await page.waitFor(`(document.querySelector('.field th button').click(), true)`)
    expect(await page.waitFor(sorted)).toEqual([['Survey', 'ascending', '" ↑"']])
    expect(await page.waitFor(sentence)).toBe('0 shown')
  })

  test('on paper every row is shown and nothing is folded or cut', async () => {
    await using page = await openPage(file)
    await page.tab.emulateMediaType('print')
    const hidden = `[...document.querySelectorAll('.overview :is(tbody tr, .today li)')].filter((one) => one.closest('.tech') === null).filter((one) => one.getBoundingClientRect().height === 0 || !one.checkVisibility({ contentVisibilityAuto: true })).map(({ textContent }) => textContent)`
    expect(await page.waitFor(`document.querySelectorAll('.more tbody tr').length`)).toBeGreaterThan(0)
    expect(await page.waitFor(`${hidden}`)).toEqual([])
    const words = `[...document.querySelectorAll('.more > summary')].map((one) => getComputedStyle(one).display)`
    expect(new Set((await page.waitFor(words)) as string[])).toEqual(new Set(['none']))
    // A box around rows would be cut by the end of a page.
    const boxes = `[...document.querySelectorAll('.overview :is(table, ol, section, .card, tr, .today li)')].filter((one) => getComputedStyle(one).borderLeftStyle !== 'none' && getComputedStyle(one).breakInside !== 'avoid').map(({ className }) => className)`
    expect(await page.waitFor(boxes)).toEqual([])
  })

  test('legends have the order of the layers and a colour for each, and a status of today is seen', async () => {
    await using page = await openPage(file)
    const layers = (await page.waitFor(
      `[...document.querySelectorAll('.layers')].map((one) => ({
        drawn: [...one.querySelectorAll('path[class^=s]')].map((path) => path.getAttribute('class')),
        named: [...one.querySelectorAll('li i')].map((swatch) => swatch.className),
        colours: [...one.querySelectorAll('li i')].map((swatch) => getComputedStyle(swatch).backgroundColor),
      }))`,
    )) as { drawn: string[]; named: string[]; colours: string[] }[]
    expect(layers.length).toBeGreaterThan(5)
    for (const { drawn, named, colours } of layers) {
      expect(named).toEqual(drawn.filter((one) => named.includes(one)))
      expect(new Set(colours).size).toBe(colours.length)
    }
    const paused = `[...document.querySelectorAll('.timeline tbody tr')].find((row) => row.textContent.includes('paused')).querySelector('.deviating_from_specs')`
    expect(await page.waitFor(`${paused}.getBoundingClientRect().width`)).toBeGreaterThan(4)
  })

  test.skipIf(lacks('pdftotext'))(
    'on paper no heading stands alone, what is folded is open, and pages have date and number',
    async () => {
      await using page = await openPage(file)
      const headings = (await page.waitFor(
        `[...document.querySelectorAll('h2, h3, .overview summary:not(.today *), thead tr')].map(({ textContent }) => textContent.replace(/\\s/g, ''))`,
      )) as string[]
      const text = execFileSync('pdftotext', ['-layout', '-', '-'], { input: await printed(page) }).toString()
      const pages = text.split('\f').slice(0, -1)
      expect(pages.length).toBeGreaterThan(1)
      for (const [place, lines] of pages.entries()) {
        const [foot = '', last = ''] = lines.trimEnd().split(/\n+/).toReversed()
        expect(foot).toMatch(new RegExp(`, 10 Mar 2026 +${place + 1} of ${pages.length}$`))
        expect(headings).not.toContain(last.replaceAll(/\s/g, ''))
      }
      expect(text).toContain('paused since 10 Mar 2026')
      expect(text).toMatch(/Started +Outcome/)
      expect(text).not.toContain('SELECT')
    },
  )
})

/** The pairs of texts whose boxes overlap by more than a pixel. Labels of charts lie on their lines, and are left out. */
const OVERLAPS = `(() => {
  const boxes = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { parentElement, data } = walker.currentNode
    if (data.trim() === '' || parentElement.closest('caption, .skip, .chart, thead:not(section > .timeline thead), script')) continue
    const range = document.createRange()
    range.selectNodeContents(walker.currentNode)
    for (const box of range.getClientRects()) if (box.width > 1 && box.height > 1) boxes.push({ box, data, parentElement })
  }
  const over = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3
  return boxes.flatMap((one, place) =>
    boxes.slice(place + 1).filter((other) => over(one.box, other.box)).map((other) => one.data + ' | ' + other.data))
})()`

const LAPTOP = { width: 1_400, height: 800 }
const PHONE = { width: 390, height: 844, isMobile: true }

const printed = async ({ tab }: ChromiumPage): Promise<Buffer> =>
  Buffer.from(await tab.pdf({ preferCSSPageSize: true }))

test('a report that cannot be written fails the run, and the data is published', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const report = join(trial.warehouse, 'report.html')
  await mkdir(join(report, 'in-the-way'), { recursive: true })
  const ended = await trial.runWarm(['sync', '--publish', 'duckdb,report', '--log-level', 'warn'])
  expect(ended.code).toBe(7)
  expect(ended.stdout).toContain(`published duckdb: ${trial.published}`)
  expect(ended.stdout).toContain(`only duckdb published: cannot publish ${report}: `)
  expect(ended.stdout).toContain('The previous report is unchanged; the next run publishes again')
  expect(existsSync(trial.published)).toBe(true)
})

test('in a bucket it is an object for browsers, and the command reads from there', async (context) => {
  const trial = await openBucketTrial(context, [scriptedSurvey(1)])
  const pod = await trial.pod()
  for (let night = 0; night < 2; night += 1)
    expect(await trial.runWarm(['sync', '--publish', 'report', '--log-level', 'warn'], pod)).toMatchObject({
      code: 0,
      stderr: '',
    })
  const puts = trial.s3.requests.filter(({ verb, key }) => verb === 'put' && key.endsWith('/report.html'))
  expect(puts.map(({ headers }) => headers['content-type'])).toEqual(
    Array(2).fill('text/html; charset=utf-8'),
  )
  const stored = trial.s3.store.objects.get('fieldwork/report.html')?.body.toString()
  const out = join(await trial.temporary(), 'report.html')
  expect(await trial.runWarm(['report', '--out', out], await trial.pod())).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(await readFile(out, 'utf8')).toBe(stored)
})

test.skipIf(lacks('chromium'))('rows of two accounts name theirs; bars are narrow', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1)])
  const account = { token: TOKEN, base_url: trial.api.baseUrl }
  const config = await trial.settings({
    ...SETTINGS,
    accounts: ['north', 'south'].map((name, place) => ({ ...account, name, id: 1 + place })),
  })
  const env = NO_ACCOUNT
  const sync = ['sync', ...config, '--publish', 'duckdb,report', '--log-level', 'warn']
  expect(await trial.runWarm(sync, env)).toMatchObject({ code: 0, stderr: '' })
  await using page = await openPage(join(trial.warehouse, 'report.html'))
  const cells = `[...document.querySelectorAll('.field tbody tr')].map(({ cells }) => [cells[1].textContent, Math.round(cells[2].offsetWidth)])`
  expect(await page.waitFor(cells)).toEqual([
    ['north', 150],
    ['south', 150],
  ])
})

test('only a survey that lags the time of the page has the time of its reading', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  expect(await night(trial, 0)).toMatchObject({ code: 0 })
  const isOfTwo = ({ path }: { readonly path: string }) => path.includes('/surveys/2/')
  expect(await night(trial, 1, refusing(trial.api, 422, isOfTwo))).toMatchObject({ code: 3 })
  const out = join(await trial.temporary(), 'report.html')
  expect(await trial.runWarm(['report', '--out', out])).toMatchObject({ code: 0 })
  expect((await readFile(out, 'utf8')).match(/<small>read [^<]*<\/small>/g)).toEqual([
    '<small>read 1 Mar 2026, 00:00</small>',
  ])
})

test('a sync that was not complete is named above all numbers, until the next one is', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const report = join(trial.warehouse, 'report.html')
  const night = ['sync', '--publish', 'duckdb,report', '--log-level', 'warn']
  expect(await trial.runWarm([...night, '--max-requests', '3'])).toMatchObject({ code: 3 })
  const partial = await readFile(report, 'utf8')
  expect(partial).toContain('<b>The last sync was partial</b>: stopped by --max-requests 3')
  expect(partial.indexOf('The last sync was')).toBeLessThan(partial.indexOf('id="action"'))
  expect(await trial.runWarm(night)).toMatchObject({ code: 0 })
  expect(await readFile(report, 'utf8')).not.toContain('The last sync was')
})

test('without surveys, each part says so in a sentence', async (context) => {
  const trial = await openTrial(context)
  expect(await trial.runWarm(['sync', '--publish', 'duckdb,report', '--log-level', 'warn'])).toMatchObject({
    code: 0,
  })
  const html = await readFile(join(trial.warehouse, 'report.html'), 'utf8')
  for (const sentence of [
    'Nothing has been read yet.',
    'No survey needs action.',
    'No survey is in the field.',
    'No survey and no source changed in the 24 hours before the newest reading.',
    'No status changed in the last two weeks.',
    'No survey waits for the next run.',
    'Every row could be read, and every answer is as the API document says.',
  ])
    expect(html).toContain(sentence)
})

/** Each violation with its elements. */
const violations = async (page: ChromiumPage): Promise<unknown> => {
  await page.tab.evaluate(axe.source)
  return await page.waitFor(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 4).map(({ html, any }) => html.slice(0, 160) + ' ' + (any[0]?.message ?? '')).join(' | ')))`,
  )
}
