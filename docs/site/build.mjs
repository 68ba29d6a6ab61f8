/**
 * `npm run docs`: builds all pages of the repository as a site below `.site/dist`. The generator is installed into `.site`, so that
 * neither `npm ci` nor the packed package contains it. `npm run docs -- --preview` then serves the site on this machine.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deadAnchors } from './anchors.mjs'

const source = fileURLToPath(new URL('.', import.meta.url))
const root = join(source, '../..')
const site = join(root, '.site')
const LOCK = 'package-lock.json'
const fail = (message) => {
  console.error(message)
  process.exit(1)
}

/** npm writes the installed versions here. */
const isInstalled = () =>
  existsSync(join(site, 'node_modules/.package-lock.json')) &&
  existsSync(join(site, LOCK)) &&
  readFileSync(join(site, LOCK), 'utf8') === readFileSync(join(source, LOCK), 'utf8')

const install = () => {
  rmSync(site, { recursive: true, force: true })
  mkdirSync(site)
  for (const name of ['package.json', LOCK]) cpSync(join(source, name), join(site, name))
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=1', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', ['ci', ...options], { cwd: site, encoding: 'utf8' })
  if (status === 0) return
  rmSync(site, { recursive: true, force: true })
  const [reason = 'npm ci failed'] = stderr.split('\n').filter((line) => line !== '')
  fail(`The generator of the site is not installed, and npm cannot install it now: ${reason}`)
}

/** Copies the pages. Their own directories would not find the packages of the generator. */
const copyPages = () => {
  const pages = [
    ...readdirSync(root).filter((name) => name.endsWith('.md')),
    ...['docs', 'test/README.md', 'src/reference-server/README.md'],
  ]
  for (const page of pages) {
    cpSync(join(root, page), join(site, 'pages', page), {
      recursive: true,
      filter: (path) => join(path, '/') !== source,
    })
  }
}

/** The index of all pages with their addresses, as https://llmstxt.org describes it. */
function writeLlmsTxt() {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8').replace(/^#.*\n/, '')
  const absolute = (_, path, anchor = '') => {
    const page = new URL(`${path}.html${anchor}`, new URL('docs/', homepage))
    return `](${page.href.replace('README.html', '')})`
  }
  const text = index.replaceAll(/\]\(([^)#]+)\.md(#[^)]*)?\)/g, absolute)
  writeFileSync(join(site, 'dist/llms.txt'), `# fieldwork-sync\n\n> ${description}\n${text}`)
}

const vitepress = (...args) =>
  spawnSync(process.execPath, [join(site, 'node_modules/vitepress/bin/vitepress.js'), ...args], {
    cwd: site,
    stdio: 'inherit',
  }).status

if (!isInstalled()) install()
for (const name of ['.vitepress', 'pages']) rmSync(join(site, name), { recursive: true, force: true })
cpSync(join(source, '.vitepress'), join(site, '.vitepress'), { recursive: true })
copyPages()
if (vitepress('build', site) !== 0) fail('The site was not built.')
const { description, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
writeLlmsTxt()
const dead = deadAnchors(join(site, 'dist'), new URL(homepage).pathname)
if (dead.length > 0) fail(`No heading has these anchors:\n${dead.join('\n')}`)
console.log(`The site is in ${join(site, 'dist')}`)
if (process.argv.includes('--preview')) vitepress('preview', site)
