/**
 * Links between pages lead to the pages of the site. A link to another file of the repository becomes its path, because the site does
 * not have that file. A link to nothing fails the build.
 */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export const repositoryLinks = (md, { root, pages, siteName }) => {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const page = relative(pages, env.realPath ?? env.path)
    for (const { children } of tokens) {
      for (const [place, token] of (children ?? []).entries()) {
        if (token.type === 'link_open') follow(children, place, page)
      }
    }
  })

  const follow = (children, place, page) => {
    const open = children[place]
    const [path, anchor] = open.attrGet('href').split('#')
    if (path === '' || /^[\w.+-]+:/.test(path)) return
    const target = join(dirname(page), decodeURIComponent(path))
    const readme = join(target, 'README.md')
    const linked = existsSync(join(root, readme)) ? readme : target
    if (!existsSync(join(root, linked))) throw new Error(`${page} links to ${path}, which does not exist`)
    if (existsSync(join(pages, linked)) && linked.endsWith('.md')) {
      const href = relative(dirname(page), siteName(linked))
      open.attrSet(
        'href',
        `${href.startsWith('.') ? href : `./${href}`}${anchor === undefined ? '' : `#${anchor}`}`,
      )
      return
    }
    const close = children.findIndex(({ type }, after) => after > place && type === 'link_close')
    Object.assign(open, {
      type: 'file_open',
      tag: 'span',
      attrs: [
        ['class', 'file'],
        ['title', target],
      ],
    })
    Object.assign(children[close], { type: 'file_close', tag: 'span' })
  }
}
