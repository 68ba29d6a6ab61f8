/** The SDK's client of one store, with its time limits. */
import { createHash } from 'node:crypto'
import {
  type $Command,
  ChecksumAlgorithm,
  S3Client,
  type S3ClientConfig,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3'
import { z } from 'zod'
import {
  ATTEMPTS_MAX,
  type ClientOptions,
  type Purpose,
  placeOf,
  SILENCE_MS_MAX,
  sendRequest,
} from '../client.js'
import { ObjectStoreError } from '../object-store.js'
import { reasonOf } from './failure.js'

export type S3Connection = Awaited<ReturnType<typeof connect>>

const CONNECT_MS_MAX = 5_000
/** Servers that are not AWS accept this region, unless they are configured with another one. */
const REGION_OF_ENDPOINTS = 'us-east-1'

const nothing = (): void => undefined
/** Without a logger, the SDK writes warnings to stderr. */
const QUIET = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing }

const withHeaders = z.object({ headers: z.object({ date: z.string() }) })

export const connect = async (options: ClientOptions) => {
  const { bucket, endpoint, pathStyle } = options
  const { attemptsMax = ATTEMPTS_MAX, silenceMsMax = SILENCE_MS_MAX } = options
  const place = placeOf('s3', options)
  const config: S3ClientConfig = {
    region: options.region ?? (await foundRegion(place.address, endpoint)),
    forcePathStyle: pathStyle,
    maxAttempts: attemptsMax,
    retryMode: 'adaptive',
    logger: QUIET,
    requestHandler: { connectionTimeout: CONNECT_MS_MAX, socketTimeout: silenceMsMax, logger: QUIET },
  }
  const client = new S3Client(
    endpoint === null
      ? config
      : {
          ...config,
          endpoint,
          // Several S3-compatible servers refuse the newer checksums. Requests are signed with the SHA-256 of their body anyway.
          requestChecksumCalculation: 'WHEN_REQUIRED',
          responseChecksumValidation: 'WHEN_REQUIRED',
        },
  )
  if (endpoint !== null) sendMd5OfDeletions(client)
  const dates = new WeakMap<object, number>()
  client.middlewareStack.add(
    (next) => async (request) => {
      const result = await next(request)
      const answer = withHeaders.safeParse(result.response)
      const ms = answer.success ? Date.parse(answer.data.headers.date) : Number.NaN
      if (result.output !== undefined && !Number.isNaN(ms)) dates.set(result.output, ms)
      return result
    },
    { step: 'deserialize', priority: 'high', name: 'dateOfAnswer' },
  )
  /** The store's own clock when it sent this answer, milliseconds since 1970; null if it did not say. */
  const dateOf = (answer: object): number | null => dates.get(answer) ?? null
  /** AWS proves each part by its SHA-256, also where a key of KMS makes ETags that are no MD5. */
  const sums = endpoint === null ? { ChecksumAlgorithm: ChecksumAlgorithm.SHA256 } : {}
  return { ...place, client, bucket, reasonOf, dateOf, sums }
}

/**
 * Deletions of several objects need a checksum. The SDK sends a newer kind, which older servers refuse. Every server knows Content-MD5.
 * AWS's guide to the SDK describes this middleware.
 */
const sendMd5OfDeletions = (client: S3Client): void => {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const { request } = args
        if (commandName !== 'DeleteObjectsCommand' || !isTextRequest(request)) return await next(args)
        for (const header of Object.keys(request.headers))
          if (/^x-amz-(sdk-)?checksum-/i.test(header)) delete request.headers[header]
        request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64')
        return await next(args)
      },
    { step: 'build', priority: 'low', name: 'md5OfDeletions' },
  )
}

const textRequest = z.object({ headers: z.record(z.string(), z.string()), body: z.string() })

/** A type guard and not a parsed copy, because the request itself is changed. */
const isTextRequest = (request: unknown): request is z.infer<typeof textRequest> =>
  textRequest.safeParse(request).success

/** The region of the environment or the profile. */
const foundRegion = async (address: string, endpoint: string | null): Promise<string> => {
  const probe = new S3Client({ logger: QUIET })
  try {
    return await probe.config.region()
  } catch (error) {
    if (endpoint !== null) return REGION_OF_ENDPOINTS
    throw new ObjectStoreError(`${address}: no region is known; set storage.region or AWS_REGION`, {
      cause: error,
    })
  } finally {
    probe.destroy()
  }
}

/** Sends a command with the SDK's retries. */
export const send = <Input extends ServiceInputTypes, Output extends ServiceOutputTypes, Refusal = never>(
  connection: S3Connection,
  purpose: Purpose,
  signal: AbortSignal,
  command: $Command<Input, Output, S3ClientResolvedConfig, ServiceInputTypes, ServiceOutputTypes>,
  whenRefused?: (error: unknown) => Refusal | undefined,
): Promise<Output | Refusal> =>
  sendRequest(
    connection,
    purpose,
    signal,
    () => connection.client.send(command, { abortSignal: signal }),
    whenRefused,
  )
