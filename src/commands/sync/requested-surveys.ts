/** Finds the account of each survey that `sync --surveys` names, before the first request. */
import { ExpectedError } from '../../base/errors.js'
import { quoted } from '../../base/human.js'
import { formatInstant } from '../../model/instant.js'
import type { Settings } from '../../settings/settings.js'
import { shardOf } from '../../settings/shards.js'
import type { KnownSurvey } from '../../warehouse/survey-status.js'
import type { surveyNameOf } from '../flags.js'

export type RequestedSurvey = ReturnType<typeof surveyNameOf>

/** The ids by account. Throws an error `unknown_survey` that says what to do about every wrong name. */
export const surveysByAccount = (
  requested: readonly RequestedSurvey[],
  known: readonly KnownSurvey[],
  settings: Pick<Settings, 'accounts' | 'shard'>,
): ReadonlyMap<string, readonly number[]> => {
  const results = [...new Set(requested.map((survey) => findOne(survey, known, settings)))]
  const problems = results.filter((result) => typeof result === 'string')
  if (problems.length > 0)
    throw new ExpectedError('unknown_survey', `nothing was requested: ${problems.join('; ')}`)
  const surveys = results.filter((result) => typeof result !== 'string')
  const idsOf = (account: string) =>
    surveys.filter((survey) => survey.account === account).map((survey) => survey.surveyId)
  return new Map(surveys.map(({ account }) => [account, idsOf(account)]))
}

/** The requested survey, or why no known survey is meant. */
const findOne = (
  { account, surveyId }: RequestedSurvey,
  known: readonly KnownSurvey[],
  { accounts, shard }: Pick<Settings, 'accounts' | 'shard'>,
): KnownSurvey | string => {
  const names = accounts.map(({ name }) => name)
  if (account !== undefined && !names.includes(account)) {
    const shardHint =
      shard === null
        ? ''
        : `; among ${shard.count} shards, its account belongs to --shard ${shardOf(account, shard.count)}/${shard.count}`
    return `${quoted(`${account}/${surveyId}`)} is of no account of this run, which has ${names.join(', ') || 'none'}${shardHint}`
  }
  const named = account === undefined ? String(surveyId) : `${account}/${surveyId}`
  const matches = known.filter(
    (candidate) =>
      candidate.surveyId === surveyId &&
      (account === undefined ? names : [account]).includes(candidate.account),
  )
  const [one, ...others] = matches.filter(({ isTyped, missingSince }) => isTyped && missingSince === null)
  if (one !== undefined && others.length === 0) return one
  if (one !== undefined)
    return `${named} is a survey of several accounts: give ${[one, ...others].map((other) => `${other.account}/${surveyId}`).join(' or ')}`
  const [hidden] = matches
  if (hidden === undefined)
    return `${named} is not known: no listing of ${account ?? (names.join(', ') || 'this shard')} has shown it. A new survey comes with the next sync`
  return hidden.missingSince === null
    ? `no row of ${named} could be typed: see fieldwork-sync status --survey ${hidden.account}/${surveyId}`
    : `the API does not show ${named} since ${formatInstant(hidden.missingSince)}: fieldwork-sync sync --full finds it if it is back`
}
