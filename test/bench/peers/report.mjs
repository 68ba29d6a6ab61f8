/** The tables that the comparison prints, and the page of the documentation that has the same tables. */
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { versionsOf } from './environments.mjs'

const page = new URL('../../../docs/reference/peers.md', import.meta.url)

const MODE_COLUMNS = {
  nights: ['Requests', 'Wall, s', 'CPU, s', 'Peak memory, MiB', 'Rows that differ'],
  'fan-out': ['Requests', 'Wall, s', 'CPU, s', 'Peak memory, MiB', 'Rows that differ'],
  granted: ['Requests', 'Wall, s', 'CPU, s', 'Peak memory, MiB', 'Refused (429)', 'Rows that differ'],
  list: ['Requests', 'Wall, s', 'CPU, s', 'Peak memory, MiB', 'Surveys that differ'],
  cap: ['Requests', 'Wall, s', 'CPU, s', 'Refused (429)', 'Rows that differ'],
  kill: ['Requests of the killed run', 'Requests of the next run', 'Rows that differ'],
}
const VALUES = {
  Requests: ({ requests }) => requests.map(thousands).join(', '),
  'Requests of the killed run': ({ killed }) => killed.map(thousands).join(', '),
  'Requests of the next run': ({ requests }) => requests.map(thousands).join(', '),
  'Wall, s': ({ wallMs }) => seconds(wallMs),
  'CPU, s': ({ cpuMs }) => seconds(cpuMs),
  'Peak memory, MiB': ({ peakMiB }) => thousands(Math.round(peakMiB)),
  'Refused (429)': ({ refused }) => thousands(refused),
  'Rows that differ': ({ rows }) => rows.map(thousands).join(', '),
  'Surveys that differ': ({ rows }) => rows.map(thousands).join(', '),
}
const LEFT_OUT = {
  history: 'History',
  deletions: 'Rows that are gone',
  notFound: 'A survey answers 404',
  killed: 'After a kill',
  cap: 'The cap',
}

/** A Markdown table of one mode. */
export const tableOf = (mode, results) =>
  markdown(
    ['Tool', ...MODE_COLUMNS[mode]],
    results.map((result) => [
      nameOf(mode, result),
      ...(result.problem === null
        ? MODE_COLUMNS[mode].map((column) => VALUES[column](result))
        : [result.problem, ...MODE_COLUMNS[mode].slice(1).map(() => '')]),
    ]),
  )

const nameOf = (mode, { tool, way }) => (mode === 'nights' ? `${tool.name}, ${tool.ways[way]}` : tool.name)

/** How long the others take as a factor of ours, and what the rows that differ after the last night are. */
export const notesOf = (mode, results) => {
  const done = results.filter(({ problem }) => problem === null)
  const ours = done.find(({ tool }) => tool.name === 'fieldwork-sync')
  return done.flatMap((result) => {
    const name = nameOf(mode, result)
    const { missing, gone, different } = result.last
    const kinds = [
      [different, 'with other values'],
      [gone, 'no longer shown by the API'],
      [missing, 'missing'],
    ].flatMap(([count, kind]) => (count === 0 ? [] : [`${thousands(count)} ${kind}`]))
    return [
      ...(ours === undefined || result === ours || mode === 'kill'
        ? []
        : [
            `${name} takes ${factor(result, ours, 'wallMs')} times our wall time and ${factor(result, ours, 'cpuMs')} times our CPU time.`,
          ]),
      ...(kinds.length === 0 ? [] : [`The rows of ${name} that differ at the end: ${kinds.join(', ')}.`]),
    ]
  })
}

const factor = (one, other, field) => (one[field] / other[field]).toFixed(2)

export const leftOutTable = (tools) => {
  const shown = tools.filter(isNoVariant)
  return markdown(
    ['', ...shown.map(({ name }) => name)],
    Object.entries(LEFT_OUT).map(([key, title]) => [title, ...shown.map(({ leavesOut }) => leavesOut[key])]),
  )
}

export const versionsTable = (tools) =>
  markdown(
    ['Tool', 'Versions'],
    tools
      .filter(isNoVariant)
      .map(({ name, environments, versions = [] }) => [
        name,
        [
          ...versions,
          ...Object.values(environments).flatMap((list) =>
            versionsOf(list).map((one) => `${one.name} ${one.version}`),
          ),
        ].join(', '),
      ]),
  )

/** Another setup of a tool has its versions, and leaves out the same. */
const isNoVariant = ({ variantOf }) => variantOf === undefined

/** Replaces the parts of the page that this run has measured, without variants. Each is between two comments. */
export const writePage = async (tools, results) => {
  let text = await readFile(page, 'utf8')
  const replace = (name, part) => {
    const between = new RegExp(`(<!-- measured: ${name} -->\n)[\\s\\S]*?(<!-- measured until here -->)`)
    if (!between.test(text)) throw new Error(`${page.pathname} has no place for ${name}`)
    text = text.replace(between, (_, before, after) => `${before}\n${part}\n\n${after}`)
  }
  replace('versions', `${machine()}\n\n${versionsTable(tools)}`)
  replace('left out', leftOutTable(tools))
  for (const mode of Object.keys(MODE_COLUMNS)) {
    const measured = results.filter((result) => result.mode === mode && isNoVariant(result.tool))
    if (measured.length === 0) continue
    replace(mode, tableOf(mode, measured))
  }
  await writeFile(page, text)
}

/** Other work on the machine makes times longer, so the page has the load before the first run. */
const [loadAtStart] = loadavg()

const machine = () =>
  `Measured on ${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node} and ${availableParallelism()} cores. Their load before the first run was ${loadAtStart.toFixed(1)}.`

/** Columns of numbers are aligned to the right. */
const markdown = (head, rows) =>
  [
    head,
    head.map((_, place) => (rows.every((row) => /^[\d.,: ]*$/.test(row[place])) ? '---:' : '---')),
    ...rows,
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

const seconds = (ms) => (ms / 1000).toFixed(1)
const thousands = (number) => number.toLocaleString('en-US')
