/** What each scheduler makes of an exit code: the pages name every code, and their shell lines do what the pages say. */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { EXIT_CODES } from '../../../src/base/errors.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { blockOf, PAGES, textOf, writeCommand } from './pages.js'

test.each(PAGES)('the table of %s has every exit code once', (page) => {
  const [, section = ''] = /\n## What an exit code becomes\n([\s\S]*?)\n## /.exec(textOf(page)) ?? []
  const codes = [...section.matchAll(/^\| (\d.*?) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/\b\d\b/g) ?? [],
  )
  expect(codes.map(Number).sort()).toEqual(Object.values(EXIT_CODES).sort())
})

/** Runs a script of a page with a command that ends with `code`. */
const run = async (script: string, command: string, code: number) => {
  const directory = await temporaryDirectory()
  await writeCommand(directory, command)
  await writeCommand(directory, 'sleep', '0')
  const calls = join(directory, 'calls')
  const ended = spawnSync('sh', ['-ec', script], {
    cwd: directory,
    encoding: 'utf8',
    env: {
      PATH: `${directory}:${process.env.PATH}`,
      EXIT: String(code),
      CALLS: calls,
      LOG: join(directory, 'log'),
    },
  })
  const called = (await readFile(calls, 'utf8')).trimEnd().split('\n')
  return { ...ended, calls: called.filter((line) => !/^\d+$/.test(line)) }
}

describe('cron', () => {
  const lines = blockOf('cron', 'crontab')
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => line.split(' ').slice(6).join(' '))

  test.each(Object.values(EXIT_CODES))('after %i', async (code) => {
    const [night = '', morning = ''] = lines
    const first = await run(`echo the last line >$LOG; ${night}`, 'fieldwork-sync', code)
    expect(first.calls).toEqual(['sync --max-duration 4h'])
    const isMailed = ![0, 3, 6].includes(code)
    expect(first.stdout).toBe(isMailed ? 'the last line\n' : '')
    const again = await run(morning, 'fieldwork-sync', code)
    expect(again.calls).toEqual([
      'status --check --max-age 26h',
      ...(code === 0 ? [] : ['sync --max-duration 2h']),
    ])
  })
})

describe('GitHub Actions', () => {
  const workflow = z.object({
    jobs: z.object({
      sync: z.object({
        steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })),
      }),
    }),
  })
  const { steps } = workflow.parse(parse(blockOf('github-actions', 'yaml'))).jobs.sync
  const script = steps.find(({ name }) => name === 'sync')?.run ?? ''

  test.each(Object.values(EXIT_CODES))('after %i', async (code) => {
    const ended = await run(script, 'node', code)
    expect(ended.calls).toHaveLength([1, 4].includes(code) ? 2 : 1)
    expect(ended.status).toBe([3, 6].includes(code) ? 0 : code)
    expect(ended.stdout.match(/^::(\w+)::/)?.[1]).toBe(
      code === 3 ? 'warning' : code === 6 ? 'notice' : undefined,
    )
  })
})
