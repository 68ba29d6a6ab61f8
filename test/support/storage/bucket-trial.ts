/** A trial of the real command whose warehouse is a bucket. Each pod is an empty local directory. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ScriptedSurvey } from '../api/scripted-api.js'
import type { Env } from '../command/command.js'
import { openTrial, type Trial } from '../command/trial.js'
import type { Finished } from '../files/temporary.js'
import { query, type Row } from '../warehouse/duckdb.js'
import { STORAGE_CREDENTIALS } from './credentials.js'
import {
  type S3Fault,
  type S3Request,
  type S3Server,
  type S3ServerOptions,
  startS3Server,
} from './s3-server.js'

export interface BucketTrial extends Trial {
  readonly s3: S3Server
  /** Decides about each request to the store; null by default. */
  fault: (request: S3Request) => Promise<S3Fault | null> | S3Fault | null
  /** The environment of a pod: an empty directory, and the bucket. */
  pod(): Promise<Env>
  document(key: string): Record<string, unknown>
  /** Rows of the database of the current version. */
  rows(sql: string): Promise<Row[]>
}

/** Below the bucket. Every key of the store begins with it. */
const PREFIX = 'fieldwork'

export const openBucketTrial = async (
  context: { readonly onTestFinished: Finished },
  surveys: ScriptedSurvey[] = [],
  { ignored = [] }: Pick<S3ServerOptions, 'ignored'> = {},
): Promise<BucketTrial> => {
  const decide: Pick<BucketTrial, 'fault'> = { fault: () => null }
  const s3 = await startS3Server(context.onTestFinished, {
    fault: (request) => decide.fault(request),
    ignored,
  })
  const trial = await openTrial(context, surveys)
  const bodyOf = (key: string): Buffer => {
    const found = s3.store.objects.get(`${PREFIX}/${key}`)
    if (found === undefined) throw new Error(`there is no object ${key}`)
    return found.body
  }
  const document = (key: string): Record<string, unknown> => JSON.parse(bodyOf(key).toString())
  return Object.assign(decide, {
    ...trial,
    s3,
    pod: async () => ({
      ...STORAGE_CREDENTIALS,
      AWS_ENDPOINT_URL_S3: s3.endpoint,
      FIELDWORK_SYNC_STORAGE_URL: `s3://${s3.bucket}/${PREFIX}`,
      FIELDWORK_SYNC_WAREHOUSE: join(await trial.temporary(), 'pod'),
    }),
    document,
    rows: async (sql: string) => {
      const file = join(await trial.temporary(), 'published.duckdb')
      await writeFile(file, bodyOf(String(document('current.json').database)))
      return await query(file, sql)
    },
  })
}

/** The keys of the store without its prefix, in order. */
export const keysIn = ({ s3 }: Pick<BucketTrial, 's3'>): readonly string[] =>
  [...s3.store.objects.keys()].map((key) => key.slice(PREFIX.length + 1)).sort()
