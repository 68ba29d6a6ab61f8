/** The CronJobs for a bucket are as hardened as those with a volume, and have their bucket, disk and credentials. */
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { directory, linesOf, parsedPod, pathOf, settingsOf } from './kubernetes.js'

describe.each([
  ['cronjob-bucket.yaml', 'cronjob.yaml', 'fieldwork', []],
  // It has other variables already.
  ['cronjob-bucket-sharded.yaml', 'cronjob-sharded.yaml', 'fieldwork/shard=2-of-4', ['env:']],
])('%s', (file, withVolume, prefix, common) => {
  const bucketPod = parsedPod(file)
  const [bucketContainer] = bucketPod.containers

  test(`differs from ${withVolume} only in place, identity and size of the warehouse`, () => {
    const [lines, before] = [linesOf(file), linesOf(withVolume)]
    expect(before.filter((line) => !lines.includes(line))).toEqual([
      'persistentVolumeClaim:',
      'claimName: fieldwork-sync-warehouse',
    ])
    const added = [
      'serviceAccountName: fieldwork-sync',
      'env:',
      '- name: FIELDWORK_SYNC_STORAGE_URL',
      'value: s3://research/fieldwork',
      '- name: AWS_SHARED_CREDENTIALS_FILE',
      'value: /secrets/aws-credentials',
      'ephemeral-storage: 2Gi',
      'ephemeral-storage: 11Gi',
      'emptyDir:',
      'sizeLimit: 10Gi',
    ]
    expect(lines.filter((line) => !before.includes(line))).toEqual(
      added.filter((line) => !common.includes(line)),
    )
  })

  test('has settings that load, and its bucket in them', async () => {
    expect((await settingsOf(bucketContainer, 2)).storage).toMatchObject({
      bucket: 'research',
      prefix,
      endpoint: null,
    })
  })

  test('may use the whole volume, and writes a log beside it', () => {
    const gibibytesOf = (quantity = '') => Number(/^(\d+)Gi$/.exec(quantity)?.[1])
    const { limits, requests } = bucketContainer.resources
    const [volume] = bucketPod.volumes.flatMap(({ emptyDir }) => emptyDir?.sizeLimit ?? [])
    expect(gibibytesOf(limits['ephemeral-storage'])).toBeGreaterThan(gibibytesOf(volume))
    expect(gibibytesOf(requests['ephemeral-storage'])).toBeGreaterThan(0)
  })

  test('reads keys only from a file of the Secret, whose example names it', () => {
    const value = bucketContainer.env?.find(({ name }) => name === 'AWS_SHARED_CREDENTIALS_FILE')?.value ?? ''
    expect(dirname(value)).toBe(pathOf(bucketContainer, 'secrets'))
    expect(readFileSync(join(directory, 'secret.example.yaml'), 'utf8')).toContain(
      `--from-file=${basename(value)}=PATH`,
    )
    expect(bucketContainer.env?.map(({ name }) => name).filter((name) => /KEY|TOKEN/.test(name))).toEqual([])
  })
})
