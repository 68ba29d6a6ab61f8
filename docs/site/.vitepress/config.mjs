/** The site has the Markdown files of the repository as they are, grouped as docs/README.md groups them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { repositoryLinks } from './links.mjs'

const site = fileURLToPath(new URL('..', import.meta.url))
const root = join(site, '..')

/** A README is the first page of its directory. */
const siteName = (page) => page.replace(/(^|\/)README\.md$/, '$1index.md')

const linksOf = (text) =>
  [...text.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)].map(([, name, path]) => ({
    text: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    link: `/${siteName(join('docs', path))}`.replace(/(index)?\.md$/, ''),
  }))

/** The roles of docs/README.md, each with its groups and links, but for the last one: maintainers find their pages among all. */
const sidebar = () => {
  const [, ...roles] = readFileSync(join(root, 'docs/README.md'), 'utf8').split(/^## /m)
  return roles.slice(0, -1).map((role) => {
    const [own, ...groups] = role.split(/^### /m)
    const items = groups.map((group) => ({
      text: group.split('\n')[0],
      collapsed: true,
      items: linksOf(group),
    }))
    return { text: own.split('\n')[0], items: [...linksOf(own), ...items] }
  })
}

/** The anchors are those that GitHub gives to headings. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Mark}\p{Number}\p{Connector_Punctuation} -]/gu, '')
    .replaceAll(' ', '-')

const { description, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

export default {
  title: 'fieldwork-sync',
  description,
  base: new URL(homepage).pathname,
  lang: 'en',
  // No icon: without this line browsers request one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: './pages',
  outDir: './dist',
  cacheDir: './cache',
  rewrites: siteName,
  markdown: {
    anchor: { slugify },
    config: (md) => {
      // Indented code looks like fenced code.
      md.core.ruler.push('indented-code', ({ tokens }) => {
        for (const token of tokens)
          if (token.type === 'code_block') Object.assign(token, { type: 'fence', tag: 'code', info: 'text' })
      })
      md.use(repositoryLinks, { root, pages: join(site, 'pages'), siteName })
      const { fence } = md.renderer.rules
      md.renderer.rules.fence = (tokens, place, ...rest) =>
        tokens[place].info.trim() === 'mermaid'
          ? `<Mermaid code="${encodeURIComponent(tokens[place].content)}" />`
          : fence(tokens, place, ...rest)
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: sidebar(),
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'All pages', link: '/docs/' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ].filter(({ link }) => existsSync(join(root, `${link.replace(/\/$/, '/README')}.md`))),
    docFooter: { prev: false, next: false },
  },
}
