/** What `--help` says about commands besides their flags: their groups, two examples of each, and where its settings come from. */

/** What it does, and the command line without the program's name. */
type Example = readonly [does: string, line: string]

/** The groups in the order of `--help`, with the examples of their commands. */
export const GROUPS: Readonly<
  Record<string, Readonly<Record<string, readonly [first: Example, second: Example]>>>
> = {
  Run: {
    init: [
      ['Ask on the terminal, and write ./fieldwork-sync.yaml', 'init'],
      ['Without questions', 'init --base-url https://host/api/v1 --id 7 --token-file token'],
    ],
    sync: [
      ['Every night', 'sync'],
      ['Stop in time for the next job', 'sync --max-duration 55m'],
    ],
    plan: [
      ['How long would the next sync take?', 'plan'],
      ['What fits into 500 requests?', 'plan --max-requests 500'],
    ],
    replay: [
      ['After an upgrade', 'replay'],
      ['With the settings of another file', 'replay --config /etc/fieldwork/acme.yaml'],
    ],
  },
  Read: {
    status: [
      ['Why is this survey old?', 'status --survey 4711'],
      ['For a probe: exit 0 if a run was complete in the last 26 hours', 'status --check --max-age 26h'],
    ],
    query: [
      ['Any question in SQL', 'query "SELECT title, status, per_day FROM surveys_today"'],
      ['A query with a name, in a file for Excel', 'query needs-action --out morning.xlsx'],
    ],
    report: [
      ['A page to open in a browser', 'report'],
      ['Of the warehouse of a backup', 'report --warehouse /mnt/backup --out report.html'],
    ],
    export: [
      ['A workbook for Excel', 'export --format xlsx --out workbook'],
      ['Two tables as CSV', 'export --format csv --tables surveys,freshness --out csv'],
    ],
    schema: [
      ['Every column, to read', 'schema'],
      ['For dbt', 'schema --format dbt'],
    ],
  },
  Check: {
    check: [
      ['Would a sync work?', 'check'],
      ['Only the API of one account', 'check --accounts acme'],
    ],
    verify: [
      ['Compare 20 surveys of each account with the API', 'verify'],
      ['Only the files, without a request', 'verify --local'],
    ],
  },
  Develop: {
    conformance: [
      ['The service of the only account of the settings', 'conformance'],
      ['Another service', 'conformance --base-url https://host/api/v1 --id 7 --token-file token'],
    ],
    'reference-server': [
      ['1,000 surveys, always the same', 'reference-server --port 8080 --seed 5 --surveys 1000'],
      ['A clock that moves only when you say so', 'reference-server --clock frozen'],
    ],
    completion: [
      ['In .bashrc, for bash', 'completion bash'],
      ['For fish', 'completion fish'],
    ],
  },
}

/** For a command with `--config`. */
const FROM_FILE =
  'Settings: from the file of --config, or of FIELDWORK_SYNC_CONFIG, or else from ./fieldwork-sync.yaml. Other variables FIELDWORK_SYNC_* override the file, and flags override both.'
const OTHERS: Readonly<Record<string, string>> = {
  init: 'Settings: from these flags and your answers. Later commands read them from the file, and variables FIELDWORK_SYNC_* override it.',
}
const FROM_FLAGS = 'Settings: only these flags; neither a file nor the environment is read.'

/** The text below the flags of a command. */
export const commandHelp = (name: string, takesFile: boolean): string => {
  const examples = Object.values(GROUPS).flatMap((commands) => commands[name] ?? [])
  const lines = examples.flatMap(([does, line]) => [`  ${does}:`, `    fieldwork-sync ${line}`])
  return ['Examples:', ...lines, '', takesFile ? FROM_FILE : (OTHERS[name] ?? FROM_FLAGS)].join('\n')
}

/** The commands in their groups, each with what it does, in two columns. */
export const commandList = (
  commands: readonly { readonly name: string; readonly describe: string }[],
): string =>
  Object.entries(GROUPS)
    .flatMap(([title, members]) => [
      `${title}:`,
      ...commands.flatMap(({ name, describe }) => (name in members ? inColumns(name, describe) : [])),
      '',
    ])
    .join('\n')

/** A line of yargs' layout: a tab divides its columns, which are wrapped apart. */
export const inColumns = (left: string, right: string): string => `  ${left}\t  ${right}`
