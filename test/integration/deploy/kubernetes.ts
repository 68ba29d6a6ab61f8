/** The kustomize base as data: its files, its pods, the settings that load in them, and the variants that its comments describe. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { z } from 'zod'
import { loadSettings } from '../../../src/settings/load-settings.js'
import { pairsOf, projectDirectory, readDockerfile, textsOf } from './dockerfile.js'

export const directory = join(projectDirectory, 'config/kubernetes')

/** Each variant is a CronJob and what it needs: a comment line of kustomization.yaml such as `#   cronjob.yaml, pvc.yaml: …`. */
export const VARIANTS: readonly (readonly [cronJob: string, other: string])[] = [
  ...readFileSync(join(directory, 'kustomization.yaml'), 'utf8').matchAll(
    /^ +# +(cronjob[\w-]*\.yaml), ([\w-]+\.yaml): /gm,
  ),
].map(([, cronJob = '', other = '']) => [cronJob, other])

export const read = (file: string): unknown => {
  const [document, ...more] = parseAllDocuments(readFileSync(join(directory, file), 'utf8'))
  expect(more).toEqual([])
  expect(document?.errors).toEqual([])
  expect(document?.warnings).toEqual([])
  return document?.toJS()
}

const mount = z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })
const podSpec = z.looseObject({
  serviceAccountName: z.string().optional(),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.looseObject({ runAsUser: z.number(), runAsGroup: z.number() }),
  containers: z.tuple([
    z.looseObject({
      name: z.string(),
      image: z.string(),
      args: z.array(z.string()),
      env: z.array(z.object({ name: z.string(), value: z.string().optional() })).optional(),
      resources: z.object({
        requests: z.record(z.string(), z.string()),
        limits: z.record(z.string(), z.string()),
      }),
      volumeMounts: z.array(mount),
    }),
  ]),
  volumes: z.array(
    z.looseObject({
      name: z.string(),
      persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional(),
      emptyDir: z.object({ sizeLimit: z.string() }).optional(),
    }),
  ),
})

const jobSpec = z.looseObject({
  activeDeadlineSeconds: z.number(),
  podFailurePolicy: z.object({ rules: z.array(z.record(z.string(), z.unknown())) }),
  template: z.object({ spec: podSpec }),
})
const cronJobSpec = z.looseObject({
  startingDeadlineSeconds: z.number(),
  successfulJobsHistoryLimit: z.number().positive(),
  failedJobsHistoryLimit: z.number().positive(),
  jobTemplate: z.object({ spec: jobSpec }),
})

export const parsedCronJob = (file: string) => z.object({ spec: cronJobSpec }).parse(read(file)).spec

export const parsedPod = (file: string) => parsedCronJob(file).jobTemplate.spec.template.spec

type Container = ReturnType<typeof parsedPod>['containers'][0]

export const pathOf = ({ volumeMounts }: Container, volume: string): string | undefined =>
  volumeMounts.find(({ name }) => name === volume)?.mountPath

/** What the command loads in the pod: the mounted files, the image's variables and the container's. `shard` is the index of its pod. */
export const settingsOf = async (container: Container, shard = 0) => {
  const flags = Object.fromEntries(
    container.args.flatMap((arg) => {
      const [, name, value] = /^--([a-z-]+)=(.*)$/.exec(arg.replace('$(SHARD)', String(shard))) ?? []
      return name === undefined ? [] : [[name, value]]
    }),
  )
  const env = Object.fromEntries(
    (container.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  )
  const files: Readonly<Record<string, string>> = {
    [`${pathOf(container, 'settings')}/fieldwork-sync.yaml`]: readFileSync(
      join(directory, 'fieldwork-sync.yaml'),
      'utf8',
    ),
    [`${pathOf(container, 'secrets')}/token`]: 'the-token\n',
  }
  return await loadSettings({
    env: { ...pairsOf(textsOf(readDockerfile().at(-1), 'ENV')[0] ?? ''), ...env },
    flags,
    signal: new AbortController().signal,
    readFile: (path) => {
      const text = files[path]
      if (text === undefined) throw new Error(`${path} is not mounted`)
      return text
    },
  })
}

/** The lines of a manifest without comments and indentation. */
export const linesOf = (file: string) =>
  stringify(read(file))
    .trimEnd()
    .split('\n')
    .map((line) => line.trim())
