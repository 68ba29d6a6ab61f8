/**
 * Kubernetes accepts every manifest, and what kustomize makes of every variant, by the schemas of each version since the first that the
 * how-to page names.
 */
import { spawnSync } from 'node:child_process'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { environmentDirectory, lacksEnvironment, runPython } from '../readers/python.js'
import { directory, VARIANTS } from './kubernetes.js'

const SCRIPT = fileURLToPath(new URL('validate_manifests.py', import.meta.url))
const FIRST = '1.29'
const NEWEST = '1.37'

type Resources = Readonly<Record<string, unknown>>

const answer = z.object({ versions: z.array(z.string()), problems: z.array(z.string()) })
const validate = async (resources: Resources) =>
  answer.parse(await runPython('kubernetes', SCRIPT, { first: FIRST, resources }))

/** The files that `kubectl apply` accepts: neither the settings nor the kustomization. */
const manifests = async (): Promise<Resources> => {
  const files = (await readdir(directory)).filter(
    (name) => !/^(fieldwork-sync|kustomization)\.yaml$/.test(name),
  )
  const entries = files.map(
    async (name) => [name, parse(await readFile(join(directory, name), 'utf8'))] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}

describe.skipIf(lacksEnvironment('kubernetes'))('the manifests', () => {
  test(`are valid in Kubernetes ${FIRST} to ${NEWEST}, without unknown fields`, async () => {
    const resources = await manifests()
    expect(Object.keys(resources).length).toBeGreaterThan(5)
    const { versions, problems } = await validate(resources)
    expect(problems).toEqual([])
    expect([versions.at(0), versions.at(-1)]).toEqual([FIRST, NEWEST])
  })

  test('would be refused with an unknown field or a wrong type', async () => {
    const { 'service-account.yaml': account, 'pvc.yaml': claim } = await manifests()
    const { versions, problems } = await validate({
      unknown: { ...z.looseObject({}).parse(account), automountServiceToken: false },
      wrong: { ...z.looseObject({}).parse(claim), spec: { accessModes: 'ReadWriteOnce' } },
    })
    expect(problems.length).toBe(2 * versions.length)
  })
})

describe.skipIf(lacksEnvironment('kubernetes') || lacksEnvironment('kustomize'))(
  'the result of kustomize build',
  () => {
    const build = (place: string): Resources => {
      const kustomize = `${environmentDirectory('kustomize')}/kustomize`
      const { status, stdout, stderr } = spawnSync(kustomize, ['build', place], { encoding: 'utf8' })
      expect([status, stderr]).toEqual([0, ''])
      const resources = parseAllDocuments(stdout).map((document) => document.toJS())
      return Object.fromEntries(resources.map((resource) => [resource.kind, resource]))
    }

    test('is valid for the base as it is', async () => {
      const resources = build(directory)
      expect(Object.keys(resources).sort()).toEqual([
        'ConfigMap',
        'CronJob',
        'NetworkPolicy',
        'PersistentVolumeClaim',
      ])
      expect((await validate(resources)).problems).toEqual([])
    })

    test.each(VARIANTS)('is valid for %s and %s', async (cronJob, other) => {
      const copy = await temporaryDirectory(onTestFinished)
      await cp(directory, copy, { recursive: true })
      const kustomization = await readFile(join(copy, 'kustomization.yaml'), 'utf8')
      const chosen = kustomization.replace(
        '  - cronjob.yaml\n  - pvc.yaml\n',
        `  - ${cronJob}\n  - ${other}\n`,
      )
      await writeFile(join(copy, 'kustomization.yaml'), chosen)
      const resources = build(copy)
      const isBucket = cronJob.includes('bucket')
      expect(Object.keys(resources).sort()).toEqual(
        [
          'ConfigMap',
          'CronJob',
          'NetworkPolicy',
          isBucket ? 'ServiceAccount' : 'PersistentVolumeClaim',
        ].sort(),
      )
      // The hash in the name of the ConfigMap reaches the CronJob.
      const { metadata } = z.object({ metadata: z.object({ name: z.string() }) }).parse(resources.ConfigMap)
      expect(JSON.stringify(resources.CronJob)).toContain(`"configMap":{"name":"${metadata.name}"}`)
      expect((await validate(resources)).problems).toEqual([])
    })
  },
)
