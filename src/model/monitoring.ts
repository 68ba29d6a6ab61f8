/** What is reported to machines about the end of a run, and to which addresses. */
import type { ExitCode } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import type { Secret } from '../base/secret.js'
import type { TableDeclaration } from './columns.js'
import type { Instant } from './instant.js'
import type { RunCommand, RunReport, RunStatus, SyncReport, TaskReason } from './run.js'

/** An address that gets requests about a run. Its path, query and password may be secret; its host is not. */
export interface Target {
  /** The setting that names the address, for messages. */
  readonly setting: string
  readonly url: Secret
  readonly proxy: HttpProxy | null
}

/** The settings `metrics`. */
export interface MetricsTargets {
  /** Absolute path; each shard has its own. */
  readonly file: string | null
  readonly pushgateway: Target | null
}

/** The channels of a digest. */
export const DIGEST_CHANNELS = ['chat', 'teams', 'mail'] as const
export type DigestChannel = (typeof DIGEST_CHANNELS)[number]

export const FIRST_DIGESTS = ['whole', 'silent'] as const

export interface MailAddress {
  /** Empty without a name. */
  readonly name: string
  readonly address: string
}

/** A mail server, and who gets mail from whom through it. */
export interface MailTarget {
  readonly setting: string
  readonly host: string
  readonly port: number
  /**
   * `always`: from the first byte. `starttls`: the server must offer STARTTLS. `if offered`: STARTTLS if the server offers it. `none`:
   * without TLS, on this machine only.
   */
  readonly tls: 'always' | 'starttls' | 'if offered' | 'none'
  /** Null if the server needs no credentials. */
  readonly login: { readonly user: string; readonly password: Secret } | null
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
}

/** The settings `notify.digest`. */
export interface DigestTargets {
  readonly chat: Target | null
  readonly teams: Target | null
  readonly mail: MailTarget | null
  /** Where people open the report; null if the settings have no address. */
  readonly reportUrl: string | null
  /** Whether the first digest of an account tells all that needs action, or nothing. */
  readonly first: (typeof FIRST_DIGESTS)[number]
}

/** The part of a row of `needs_action` that a digest has. */
export interface DigestItem {
  readonly account: string
  readonly surveyId: number
  readonly hashid: string
  readonly kind: string
  readonly urgency: number
  readonly title: string
  readonly projectId: string | null
  /** The reason in words. */
  readonly text: string
}

/** New differences between the answers of an account and the API document. */
interface DigestDrift {
  readonly account: string
  /** As `driftName` writes them. */
  readonly names: readonly string[]
}

/** What one channel gets. */
export interface Digest {
  /** Organization and date: `Fieldwork report, 2 Mar 2026`. */
  readonly heading: string
  /** The surveys that are new, the most urgent first. */
  readonly items: readonly DigestItem[]
  readonly drift: readonly DigestDrift[]
  /** Surveys that need action, new or not. */
  readonly surveys: number
  readonly inField: number
  /** Complete interviews that all surveys gained on the last day, or days; null if no reading gives the number. */
  readonly interviews: number | null
  /** How many days these are: more than 1 after nights without a run. */
  readonly interviewDays: number | null
  /** Whether the warehouse has several accounts. */
  readonly hasAccounts: boolean
  readonly reportUrl: string | null
  /** The setting `report.survey_url`; null if it is not set. */
  readonly surveyUrl: string | null
}

/** The settings `notify.openlineage`. */
export interface OpenLineageTarget extends Target {
  /** Sent as `Authorization: Bearer`; null without one. */
  readonly token: Secret | null
  /** The namespace of the job. */
  readonly namespace: string
}

type Relation = Pick<TableDeclaration, 'name' | 'columns'>

/** The tables and views that a run publishes. */
export interface Catalog {
  /** Those for analysts. */
  readonly relations: readonly Relation[]
  /** Those of them that Parquet and Delta have. */
  readonly inFiles: readonly Relation[]
}

/** The settings `notify`. */
export interface NotifyTargets {
  readonly start: Target | null
  readonly success: Target | null
  readonly failure: Target | null
  readonly webhook: Target | null
  readonly openlineage: OpenLineageTarget | null
  /** Null if the settings name no recipient. */
  readonly digest: DigestTargets | null
}

export interface Monitoring {
  /** Directory of the warehouse or address of its bucket: the label that distinguishes warehouses. */
  readonly warehouse: string
  /** Null if the settings have no metrics. The same for `notify`. */
  readonly metrics: MetricsTargets | null
  readonly notify: NotifyTargets | null
}

/** How a command ended that syncs or replays. */
export interface RunEnd {
  readonly runId: string
  readonly command: RunCommand
  readonly version: string
  readonly host: string
  readonly startedMs: number
  readonly endedMs: number
  readonly durationMs: number
  /** How long the run waited for the warehouse, such as for the lease of a bucket; null if it never held it. */
  readonly waitMs: number | null
  readonly exitCode: ExitCode
  readonly status: RunStatus
  /** Null if an error ended the command. */
  readonly report: SyncReport | null
  /** The error that ended the command, as `--json` prints it, without secrets; null if there is a report. */
  readonly error: { readonly code: string; readonly message: string; readonly exit_code: ExitCode } | null
  /** The accounts of the warehouse at the end of a sync; null if they could not be read. */
  readonly accounts: readonly AccountState[] | null
  /** What was published, for `notify.openlineage`; null without that setting or without a report. */
  readonly catalog: Catalog | null
}

type CountOfRun =
  | ('retries' | 'rateLimited' | 'surveysListed' | 'surveysRefreshed' | 'surveysFailed')
  | ('leftOver' | 'rejectedRows' | 'driftEvents')

/** An account in the warehouse at the end of its last sync. */
export interface AccountState
  extends Pick<RunReport, 'startedAt' | 'endedAt' | 'requestUsage' | 'rowsByTable' | CountOfRun> {
  readonly account: string
  readonly firstRunAt: Instant
  /** End of the last complete sync; null if there was none. */
  readonly lastCompleteAt: Instant | null
  readonly exitCode: number
  /** Differences from the API document that no earlier run met. */
  readonly newDriftEvents: number
  /** Queued surveys by reason. */
  readonly queued: Readonly<Record<TaskReason, number>>
  /** Queued surveys that could not be read. */
  readonly failing: number
  /** Rejected rows in quarantine that no replay could type. */
  readonly waitingRows: number
  /** Active surveys that the API shows. */
  readonly active: number
  readonly activeNeverRefreshed: number
  /** The oldest time at which the progress of an active survey was read; null without one. */
  readonly oldestActiveRefreshAt: Instant | null
  readonly tableRows: Readonly<Record<string, number>>
}
