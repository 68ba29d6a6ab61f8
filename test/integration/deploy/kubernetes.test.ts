/** The Kubernetes base is hardened, never runs two jobs at once, makes only useful retries, and has settings that load. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { EXIT_CODES } from '../../../src/base/errors.js'
import { parseDuration, readAs } from '../../../src/settings/readers.js'
import { shardText } from '../../../src/settings/shards.js'
import { manifest, pairsOf, readDockerfile, textsOf } from './dockerfile.js'
import {
  directory,
  linesOf,
  parsedCronJob,
  parsedPod,
  pathOf,
  read,
  settingsOf,
  VARIANTS,
} from './kubernetes.js'
import { workflowOf } from './workflows.js'

const cronJob = parsedCronJob('cronjob.yaml')
const job = cronJob.jobTemplate.spec
const pod = job.template.spec
const [container] = pod.containers

const kustomization = z
  .object({
    labels: z.unknown(),
    resources: z.array(z.string()),
    configMapGenerator: z.tuple([z.object({ name: z.string(), files: z.array(z.string()) })]),
    images: z.tuple([z.object({ name: z.string(), newName: z.string(), newTag: z.string() })]),
  })
  .parse(read('kustomization.yaml'))

const NETWORK_POLICY = 'network-policy.yaml'

describe('the base', () => {
  test('names every file in its folder, and the example of the Secret is not applied', () => {
    const named = [
      ...new Set(VARIANTS.flat()),
      ...kustomization.configMapGenerator[0].files,
      'kustomization.yaml',
      NETWORK_POLICY,
    ]
    expect([...named, 'secret.example.yaml'].sort()).toEqual(readdirSync(directory).sort())
  })

  test('is one of the variants that it names', () => {
    const [cronJobFile, other, ...more] = kustomization.resources
    expect(VARIANTS).toContainEqual([cronJobFile, other])
    expect(more).toEqual([NETWORK_POLICY])
    expect(VARIANTS.map(([cronJobFile]) => cronJobFile).sort()).toEqual(
      readdirSync(directory)
        .filter((name) => name.startsWith('cronjob'))
        .sort(),
    )
  })

  test.each(VARIANTS)('creates what %s mounts and uses, and nothing else', (cronJobFile, other) => {
    const used = parsedPod(cronJobFile)
    const claims = used.volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? [])
    const created = z
      .object({ kind: z.string(), metadata: z.object({ name: z.string() }) })
      .parse(read(other))
    expect([
      ...claims.map((name) => ({ kind: 'PersistentVolumeClaim', metadata: { name } })),
      ...[used.serviceAccountName ?? []]
        .flat()
        .map((name) => ({ kind: 'ServiceAccount', metadata: { name } })),
    ]).toEqual([created])
  })

  test('names the image of the release, with the version of this package', () => {
    expect(kustomization.images[0]).toEqual({
      name: container.image,
      newName: workflowOf('release.yml').jobs.image?.env.IMAGE,
      newTag: manifest.version,
    })
  })

  test('mounts its declared settings, token and warehouse', () => {
    const { metadata } = z.object({ metadata: z.object({ name: z.string() }) }).parse(read('pvc.yaml'))
    expect(pod.volumes).toEqual([
      { name: 'warehouse', persistentVolumeClaim: { claimName: metadata.name } },
      { name: 'settings', configMap: { name: kustomization.configMapGenerator[0].name } },
      { name: 'secrets', secret: { secretName: 'fieldwork-sync', defaultMode: 0o440 } },
    ])
    expect(read('secret.example.yaml')).toMatchObject({
      kind: 'Secret',
      metadata: { name: 'fieldwork-sync' },
      stringData: { token: 'replace-me' },
    })
    const image = readDockerfile().at(-1)
    expect(pathOf(container, 'warehouse')).toBe(
      pairsOf(textsOf(image, 'ENV')[0] ?? '').FIELDWORK_SYNC_WAREHOUSE,
    )
    const writable = container.volumeMounts.filter(({ readOnly }) => readOnly !== true)
    expect(writable.map(({ name }) => name)).toEqual(['warehouse'])
  })
})

describe('the job', () => {
  test('runs nightly in a named time zone, and never twice at the same time', () => {
    expect(cronJob).toMatchObject({
      schedule: expect.stringMatching(/^\d+ \d+ \* \* \*$/),
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
    })
    expect(cronJob.startingDeadlineSeconds).toBeGreaterThanOrEqual(600)
    expect(job.podReplacementPolicy).toBe('Failed')
  })

  test('stops by itself before the cluster stops it', () => {
    const limit = container.args.find((arg) => arg.startsWith('--max-duration='))?.split('=')[1] ?? ''
    const durationMs = parseDuration(limit) ?? Number.NaN
    const publishMs = 600_000
    expect(job.activeDeadlineSeconds * 1_000).toBeGreaterThan(
      durationMs + publishMs + pod.terminationGracePeriodSeconds * 1_000,
    )
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30)
  })

  test('is not retried for an exit code that a retry cannot fix, and does not count a disruption as a failure', () => {
    const { usage, partial, data, held, warehouse } = EXIT_CODES
    const values = [usage, partial, data, held, warehouse]
    expect(job.podFailurePolicy.rules).toEqual([
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      { action: 'FailJob', onExitCodes: { containerName: container.name, operator: 'In', values } },
    ])
    expect(pod.restartPolicy).toBe('Never')
    expect(job.backoffLimit).toBe(1)
  })
})

describe('the pod', () => {
  test('satisfies the restricted pod security standard, with a read-only root file system', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(container).toMatchObject({
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      resources: {
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      },
    })
    expect(textsOf(readDockerfile().at(-1), 'USER')).toEqual([
      `${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}`,
    ])
  })

  test('has settings that load, with the token from the mounted Secret', async () => {
    const settings = await settingsOf(parsedPod('cronjob.yaml').containers[0])
    expect(settings.accounts[0]?.token.reveal()).toBe('the-token')
    expect(settings.warehouseDirectory).toBe('/warehouse')
    expect(settings.storage).toBeNull()
    expect(container.args[0]).toBe('sync')
  })

  test('gets no token from its environment or its arguments', () => {
    expect(container).not.toHaveProperty('env')
    expect(container.args.join(' ')).not.toMatch(/token/i)
  })
})

describe('the network policy', () => {
  const { spec } = z
    .object({
      spec: z.looseObject({ podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }),
    })
    .parse(read(NETWORK_POLICY))

  test('selects the pods, by the label that they get', () => {
    expect([{ pairs: spec.podSelector.matchLabels, includeTemplates: true }]).toEqual(kustomization.labels)
  })

  test('lets them ask for names and send https, and lets nothing in', () => {
    const ports = [
      ['UDP', 53],
      ['TCP', 53],
      ['TCP', 443],
    ].map(([protocol, port]) => ({ protocol, port }))
    expect(spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], egress: [{ ports }] })
    expect(spec).not.toHaveProperty('ingress')
  })

  test('would let the sync of the declared settings through', async () => {
    const settings = await settingsOf(container)
    expect(settings.accounts.map(({ baseUrl }) => new URL(baseUrl).protocol)).toEqual(['https:'])
  })
})

describe('the sharded CronJob', () => {
  const [base, sharded] = [linesOf('cronjob.yaml'), linesOf('cronjob-sharded.yaml')]

  test('differs from the other one only in having a pod per shard, whose failure does not stop the others', () => {
    expect(base.filter((line) => !sharded.includes(line))).toEqual(['backoffLimit: 1', '- action: FailJob'])
    expect(sharded.filter((line) => !base.includes(line))).toEqual([
      'completionMode: Indexed',
      'completions: 4',
      'parallelism: 4',
      'backoffLimitPerIndex: 1',
      '- action: FailIndex',
      '- --shard=$(SHARD)/4',
      'env:',
      '- name: SHARD',
      'valueFrom:',
      'fieldRef:',
      "fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']",
    ])
  })

  test('gives every pod an existing shard', () => {
    const flag = sharded.find((line) => line.startsWith('- --shard='))?.replace('- --shard=', '')
    expect([0, 1, 2, 3].map((index) => readAs(shardText, flag?.replace('$(SHARD)', String(index))))).toEqual(
      [0, 1, 2, 3].map((index) => ({ ok: true, value: { index, count: 4 } })),
    )
  })
})
