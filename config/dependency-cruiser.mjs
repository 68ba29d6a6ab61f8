// The import arrows of ARCHITECTURE.md ("The rooms"): they point down only, siblings on one line never meet.
const page = 'See ARCHITECTURE.md, "The rooms".'
/** What each room may import of ours, besides itself. */
const rooms = {
  sync: ['model', 'base'],
  'survey-api': ['http', 'model', 'base'],
  warehouse: ['model', 'base'],
  publish: ['warehouse', 'model', 'base'],
  schema: ['warehouse', 'model', 'base'],
  'reference-server': ['base'],
  conformance: ['http', 'base'],
  http: ['base'],
  settings: ['base', 'model'],
  telemetry: ['base', 'model'],
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
      comment: `A command never imports another command; what they share is in cli/support. ${page}`,
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/commands\\.ts$' },
      to: { path: '^src/cli/(?!support/)[^/]+\\.ts$' },
    },
    {
      name: 'reference-server-is-for-cli',
      comment: `Client and server must not share code, or a misreading would cancel out. ${page}`,
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|reference-server)/' },
      to: { path: '^src/reference-server/' },
    },
    {
      name: 'conformance-is-for-cli',
      comment: `A third reading of the API document: what leaned on it would no longer be held to it. ${page}`,
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|conformance)/' },
      to: { path: '^src/conformance/' },
    },
    { name: 'no-cycles', severity: 'error', comment: page, from: {}, to: { circular: true } },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      comment: 'Every package that src imports is a dependency in package.json.',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev', 'unknown'] },
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
