/** What both test files of s3-failures use. */
import { inspect } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import type { ClientOptions } from '../../../src/object-store/client.js'
import { ObjectStoreError } from '../../../src/object-store/object-store.js'
import { openStore } from '../../../src/object-store/open.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../support/storage/credentials.js'
import { type S3Fault, type S3Request, startS3Server } from '../../support/storage/s3-server.js'

export const open = async (
  fault: (request: S3Request) => Promise<S3Fault | null> | S3Fault | null,
  options: Partial<ClientOptions> = {},
) => {
  withEnvironment(onTestFinished, STORAGE_CREDENTIALS)
  const server = await startS3Server(onTestFinished, { fault })
  const { bucket, endpoint } = server
  const given = {
    bucket,
    prefix: 'fieldwork',
    endpoint,
    region: null,
    pathStyle: true,
    azure: null,
    attemptsMax: 2,
  }
  const store = await openStore({ ...given, ...options })
  onTestFinished(() => store[Symbol.asyncDispose]())
  return { store, server }
}

/** The message of the error that `work` rejects with. It is one line and holds no credential. */
export const failureOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(() => null).catch((thrown: unknown) => thrown)
  if (!(error instanceof ObjectStoreError)) throw error ?? new Error('did not fail')
  expect(error.message).not.toContain('\n')
  expect(error.message).not.toContain(STORAGE_CREDENTIALS.AWS_ACCESS_KEY_ID)
  expect(error.message).not.toContain(STORAGE_CREDENTIALS.AWS_SECRET_ACCESS_KEY)
  expect(inspect(error, { depth: 9 })).not.toContain(STORAGE_CREDENTIALS.AWS_ACCESS_KEY_ID)
  expect(error.exitCode).toBe(7)
  return error.message
}

/** A fault of the first requests of a verb. */
export const first = (count: number, verb: S3Request['verb'], fault: S3Fault) => {
  let seen = 0
  return (request: S3Request): S3Fault | null => {
    if (request.verb !== verb) return null
    seen += 1
    return seen <= count ? fault : null
  }
}
