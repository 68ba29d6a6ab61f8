// The import arrows of ARCHITECTURE.md ("The rooms"): they point down only, siblings on one line never meet.
const page = 'See ARCHITECTURE.md, "The rooms".'
/** What each room may import of ours, besides itself. */
const rooms = {
  sync: ['model', 'base'],
  'survey-api': ['http', 'model', 'base'],
  warehouse: ['model', 'base'],
  publish: ['warehouse', 'model', 'base'],
  'reference-server': ['base'],
  conformance: ['http', 'base'],
  http: ['base'],
  settings: ['base', 'model'],
  logging: ['base', 'model'],
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
      comment: `A command never imports another command; what they share is in commands/wiring and commands/text. ${page}`,
      severity: 'error',
      from: { path: '^src/commands/([^/]+)/' },
      to: { path: '^src/commands/[^/]+/', pathNot: '^src/commands/($1|wiring|text)/' },
    },
    {
      name: 'shared-by-commands-is-no-command',
      comment: `Wiring and text are for commands: they import none. ${page}`,
      severity: 'error',
      from: { path: '^src/commands/(wiring|text)/' },
      to: { path: '^src/commands/(?!wiring/|text/)[^/]+/' },
    },
    {
      name: 'reference-server-is-for-commands',
      comment: `Client and server must not share code, or a misreading would cancel out. ${page}`,
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands|reference-server)/' },
      to: { path: '^src/reference-server/' },
    },
    {
      name: 'conformance-is-for-commands',
      comment: `A third reading of the API document: what leaned on it would no longer be held to it. ${page}`,
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands|conformance)/' },
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
