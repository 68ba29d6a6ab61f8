/** Parses the workflows of `.github/workflows` into data. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { projectDirectory } from './dockerfile.js'

export const WORKFLOWS = join(projectDirectory, '.github/workflows')

const settings = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))

const step = z.union([
  z.strictObject({
    name: z.string(),
    id: z.string().optional(),
    run: z.string(),
    env: settings.optional(),
  }),
  z.strictObject({ uses: z.string(), id: z.string().optional(), with: settings.default({}) }),
])

const needs = z.union([z.string().transform((job) => [job]), z.array(z.string())])

const matrix = z.object({ os: z.array(z.string()), node: z.array(z.string()).optional() })

const job = z.object({
  name: z.string(),
  needs: needs.default([]),
  'timeout-minutes': z.number(),
  permissions: z.record(z.string(), z.string()),
  environment: z.string().optional(),
  container: z.object({ image: z.string() }).optional(),
  strategy: z.object({ matrix }).optional(),
  env: settings.default({}),
  steps: z.array(step),
})

const workflow = z.object({
  name: z.string(),
  permissions: z.record(z.string(), z.string()),
  concurrency: z.object({ group: z.string() }),
  jobs: z.record(z.string(), job),
})

export type Job = z.infer<typeof job>
export type ActionStep = Extract<Job['steps'][number], { uses: string }>

const read = (file: string) => {
  const text = readFileSync(join(WORKFLOWS, file), 'utf8')
  return { file, text, ...workflow.parse(parse(text)) }
}

export const workflows = readdirSync(WORKFLOWS).sort().map(read)

/** The lines of the shell that a job runs. */
export const linesOf = (one: Job | undefined): readonly string[] =>
  (one?.steps ?? []).flatMap((each) => ('run' in each ? [each.run] : []))

export const workflowOf = (file: string) => read(file)
