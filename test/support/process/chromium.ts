/** A page in a real headless Chromium. It records the page's requests and problems: exceptions and errors on the console. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { launch } from 'puppeteer-core'

const executablePath =
  (process.env.PATH ?? '')
    .split(':')
    .map((place) => join(place, 'chromium'))
    .find((path) => existsSync(path)) ?? ''

export type ChromiumPage = Awaited<ReturnType<typeof openInChromium>>

export const openInChromium = async (url: string) => {
  const browser = await launch({
    executablePath,
    args: ['--no-sandbox'],
    defaultViewport: { width: 1_200, height: 2_000 },
    pipe: true,
  })
  const tab = await browser.newPage()
  const requests: string[] = []
  const problems: string[] = []
  tab.on('request', (request) => requests.push(request.url()))
  tab.on('pageerror', (error) => problems.push(String(error)))
  tab.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await tab.goto(url)
  return {
    tab,
    requests,
    problems,
    /**
     * Waits until an expression on the page is truthy, and returns its value. `tab.waitForFunction` makes a function of the text, which
     * the content policy of the report forbids.
     */
    waitFor: (expression: string): Promise<unknown> =>
      tab.evaluate(`new Promise((resolve) => {
        const look = () => {
          const value = ${expression}
          if (value) resolve(value)
          else setTimeout(look, 20)
        }
        look()
      })`),
    [Symbol.asyncDispose]: () => browser.close(),
  }
}
