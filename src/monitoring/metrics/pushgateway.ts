/**
 * The requests to a Pushgateway. The state of the accounts replaces its group. The last run of a command has a group of its own, whose
 * metrics are replaced one by one, so that a run without a publish does not remove what is known of the last one.
 */

import { Secret } from '../../base/secret.js'
import type { Target } from '../../model/monitoring.js'
import type { Delivery } from '../deliver.js'
import { exposition } from './exposition.js'
import type { Sample } from './samples.js'

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const JOB = '/metrics/job/fieldwork_sync'

export interface Push {
  readonly warehouse: string
  readonly command: string
  readonly run: readonly Sample[]
  /** Empty if the accounts could not be read. Then their group stays. */
  readonly accounts: readonly Sample[]
}

export const pushes = async (target: Target, push: Push): Promise<readonly Delivery[]> => {
  const common = { setting: 'metrics.pushgateway', contentType: CONTENT_TYPE }
  const group = groupOf(target, push.warehouse)
  const run: Delivery = {
    ...common,
    target: { ...target, url: new Secret(`${group}/command/${push.command}`) },
    method: 'POST',
    body: await exposition(push.run),
  }
  if (push.accounts.length === 0) return [run]
  const accounts: Delivery = {
    ...common,
    target: { ...target, url: new Secret(group) },
    method: 'PUT',
    body: await exposition(push.accounts),
  }
  return [run, accounts]
}

/** The settings may name the job and further labels. A warehouse has slashes, so its name is encoded. */
const groupOf = (target: Target, warehouse: string): string => {
  const url = new URL(target.url.reveal())
  const path = url.pathname.replace(/\/+$/, '')
  const encoded = Buffer.from(warehouse).toString('base64url')
  url.pathname = `${path.includes('/metrics/job') ? path : `${path}${JOB}`}/warehouse@base64/${encoded}`
  return url.href
}
