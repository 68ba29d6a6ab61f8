/**
 * The tools: how each is started, where its tables are, and what it leaves out. A tool reads the same as we do: surveys, the sample sources
 * of each, the progress of each survey and of each source. Every setting that differs from a tool's default says why, in its own folder.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { INTERVIEW_STATUSES } from '../../../dist/reference-server/resources.js'
import { envOf, main } from '../support.mjs'
import { TABLES } from './truth.mjs'

const project = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
const script = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Selects the counts from columns whose names `nameOf` makes. */
const counts = (nameOf) =>
  INTERVIEW_STATUSES.flatMap((status) =>
    ['individuals', 'percentage'].map(
      (field) => `"${nameOf(status, field)}" AS "interview_count_by_status.${status}.${field}"`,
    ),
  ).join(', ')

/** A SELECT for each table. `keys` has the expression of the key, `from` the name of the table, and `where` its condition. */
const queriesOf = ({ keys, from, columns = () => '*', where = '' }) =>
  Object.fromEntries(
    TABLES.map((table) => [
      table,
      `SELECT ${keys[table]} AS key, ${columns(table)} FROM ${from[table]} ${where}`,
    ]),
  )

const withCounts = (nameOf) => (table) => (table.endsWith('_progress') ? `*, ${counts(nameOf)}` : '*')

const inFieldwork = Object.fromEntries(TABLES.map((table) => [table, `fieldwork.${table}`]))

/** Where a tool writes the ids of survey and source as they are. */
const PLAIN_KEYS = {
  surveys: 'id',
  sample_sources: "survey_id || '/' || id",
  survey_progress: 'survey_id',
  source_progress: "survey_id || '/' || source_id",
}

const peerEnv = ({ world, directory, cap }) => ({
  PATH: process.env.PATH,
  HOME: directory,
  BASE_URL: world.baseUrl,
  API_ID: String(world.accounts[0].id),
  API_TOKEN: world.accounts[0].token,
  ...(cap === null ? {} : { CAP: cap }),
})

const SETTINGS = fileURLToPath(new URL('fieldwork-sync.yaml', import.meta.url))

const ours = {
  name: 'fieldwork-sync',
  environments: {},
  versions: [
    `fieldwork-sync ${project.version}`,
    `@duckdb/node-api ${project.dependencies['@duckdb/node-api']}`,
  ],
  ways: { all: 'defaults' },
  command: ({ world, directory, cap }) => ({
    command: process.execPath,
    args: [main, 'sync', '--json'],
    env: {
      ...envOf(world, directory),
      FIELDWORK_SYNC_CONFIG: SETTINGS,
      ...(cap === null ? {} : { FIELDWORK_SYNC_RATE_LIMIT: cap }),
    },
  }),
  file: 'fieldwork.duckdb',
  queries: queriesOf({
    keys: {
      surveys: 'id',
      sample_sources: "survey_id || '/' || id",
      survey_progress: 'survey_id',
      source_progress: "survey_id || '/' || sample_source_id",
    },
    from: {
      surveys: 'main.surveys',
      sample_sources: 'main.sample_sources',
      survey_progress: 'main.survey_progress',
      source_progress: 'main.sample_source_progress',
    },
    columns: withCounts((status, field) => `${status}_${field}`),
    where: 'WHERE _missing_since IS NULL',
  }),
  leavesOut: {
    history: 'kept',
    deletions: 'marked as missing',
    notFound: 'later runs try that survey again',
    killed: 'goes on after the last commit',
    cap: 'kept',
  },
}

const dlt = {
  name: 'dlt',
  environments: { dlt: 'dlt/requirements.txt' },
  ways: { all: 'everything each night', changed: 'children of changed surveys' },
  command: ({ bin, way, ...run }) => ({
    command: `${bin.dlt}/python`,
    args: [script('dlt/run.py'), run.directory, way, 'parquet'],
    env: peerEnv(run),
  }),
  file: 'peer.duckdb',
  queries: queriesOf({
    keys: {
      surveys: 'id',
      sample_sources: "_surveys_id || '/' || id",
      survey_progress: '_surveys_id',
      source_progress: "_sample_sources__surveys_id || '/' || _sample_sources_id",
    },
    from: inFieldwork,
    columns: withCounts((status, field) => `interview_count_by_status__${status}__${field}`),
  }),
  leavesOut: {
    history: 'none with `merge`; `scd2` needs every row in every run',
    deletions: 'the rows stay with `merge`',
    notFound: 'an error by default, ignored here',
    killed: 'reads everything again; packages that were read completely are loaded',
    cap: 'waits after a 429, five attempts',
  },
}

/** The same with the load files that dlt chooses without a setting. */
const dltByInsert = {
  ...dlt,
  name: 'dlt with its default load files',
  variantOf: dlt.name,
  ways: { all: 'everything each night' },
  command: (run) => {
    const { args, ...command } = dlt.command(run)
    return { ...command, args: args.slice(0, -1) }
  },
}

const singer = {
  name: 'Singer',
  environments: { tap: 'singer/requirements-tap.txt', target: 'singer/requirements-target.txt' },
  ways: { all: 'everything each night', changed: 'children of changed surveys' },
  command: ({ bin, way, ...run }) => ({
    command: `${bin.tap}/python`,
    args: [script('singer/run.py'), `${bin.target}/target-duckdb`, run.directory, way],
    env: peerEnv(run),
  }),
  file: 'peer.duckdb',
  queries: queriesOf({
    keys: PLAIN_KEYS,
    from: inFieldwork,
  }),
  leavesOut: {
    history: 'none',
    deletions: 'the rows stay',
    notFound: 'an error by default, ignored here',
    killed: 'reads everything again',
    cap: 'waits after a 429, five attempts',
  },
}

const airbyte = {
  name: 'Airbyte',
  environments: { airbyte: 'airbyte/requirements.txt' },
  ways: { all: 'everything each night' },
  command: ({ bin, way, ...run }) => ({
    command: `${bin.airbyte}/python`,
    args: [script('airbyte/run.py'), run.directory, way],
    env: peerEnv(run),
  }),
  file: 'peer.duckdb',
  queries: singer.queries,
  leavesOut: {
    history: 'none with `merge`; `append` keeps every row that was read',
    deletions: 'the rows stay with `merge`',
    notFound: 'an error by default, ignored here',
    killed: 'reads everything again',
    cap: 'kept by an API budget; early requests are repeated',
  },
}

const ownScript = {
  name: 'A script',
  environments: { script: 'script/requirements.txt' },
  ways: { all: 'everything each night' },
  command: ({ bin, way, ...run }) => ({
    command: `${bin.script}/python`,
    args: [script('script/run.py'), run.directory, way],
    env: peerEnv(run),
  }),
  file: 'peer.duckdb',
  queries: queriesOf({
    keys: PLAIN_KEYS,
    from: inFieldwork,
    // A field of a field.
    columns: withCounts((status, field) => `interview_count_by_status"."${status}"."${field}`),
  }),
  leavesOut: {
    history: 'a copy of the progress of each night',
    deletions: 'no longer in the tables, and nothing says so',
    notFound: 'left out',
    killed: 'reads everything again',
    cap: 'kept in one run, with refusals where the server counts later; the next run knows nothing of it',
  },
}

export const TOOLS = [ours, dlt, dltByInsert, singer, airbyte, ownScript]
