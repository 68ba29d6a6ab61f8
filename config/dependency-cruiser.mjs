// The import rules of ARCHITECTURE.md ("The rooms"): a room imports only rooms that its line names.
const page = 'See ARCHITECTURE.md, "The rooms".'
/** The other rooms that each room may import. */
export const rooms = {
  sync: ['rules', 'model', 'base'],
  'survey-api': ['http', 'model', 'base'],
  warehouse: ['rules', 'model', 'base'],
  publish: ['warehouse', 'object-store', 'rules', 'model', 'base'],
  storage: ['publish', 'warehouse', 'http', 'object-store', 'settings', 'rules', 'model', 'base'],
  verify: ['storage', 'publish', 'warehouse', 'object-store', 'rules', 'model', 'base'],
  'reference-server': ['base'],
  conformance: ['http', 'base'],
  monitoring: ['http', 'model', 'base'],
  http: ['base'],
  'object-store': ['base'],
  settings: ['rules', 'model', 'base'],
  logging: ['model', 'base'],
  rules: ['model', 'base'],
  model: ['base'],
  base: [],
}

export default {
  forbidden: [
    ...Object.entries(rooms).map(([room, allowed]) => ({
      name: `${room}-looks-down-only`,
      comment: `${room} may import ${['itself', ...allowed].join(', ')} and packages. ${page}`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: `^src/(${[room, ...allowed].join('|')})/` },
    })),
    {
      name: 'commands-stand-alone',
      comment: `Only the table imports commands, and init the checks of check; shared code is in files of src/commands and in text. ${page}`,
      severity: 'error',
      from: { path: '^src/commands/([^/.]+)', pathNot: '^src/commands/(table[./]|command-line[.]|yargs[.])' },
      to: {
        path: '^src/commands/',
        pathNot:
          '^src/commands/($1[/.]|text/|check[.]|(context|end-line|flags|monitored-run|report-error|warehouse-run)[.])',
      },
    },
    {
      name: 'reference-server-is-for-commands',
      comment: `Client and server must not share code: a shared misreading of the API document would stay unnoticed. ${page}`,
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands|reference-server)/' },
      to: { path: '^src/reference-server/' },
    },
    {
      name: 'conformance-is-for-commands',
      comment: `Conformance is an independent reading of the API document: it cannot check code that uses it. ${page}`,
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands|conformance)/' },
      to: { path: '^src/conformance/' },
    },
    { name: 'no-cycles', severity: 'error', comment: page, from: {}, to: { circular: true } },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      comment: 'Every package that src imports is in package.json.',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'no-packages-of-development',
      severity: 'error',
      comment: 'devDependencies are not installed with the command. Only types may come from them.',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], pathNot: '^node_modules/@types/' },
    },
    {
      name: 'optional-packages-in-one-place',
      severity: 'error',
      // docs/decisions/build-and-libraries.md#0092-azures-packages-are-optional
      comment:
        'Packages that may be absent are imported only where their absence is reported (decision 0092).',
      from: { path: '^src/', pathNot: '^src/object-store/azure/' },
      to: { dependencyTypes: ['npm-optional'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
