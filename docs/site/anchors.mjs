/** Finds links to headings that do not exist. VitePress checks only the pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A line for each dead anchor: the page and the link. The site is served below the path `base`. */
export const deadAnchors = (directory, base) => {
  const pages = new Map(
    readdirSync(directory, { recursive: true })
      .filter((name) => name.endsWith('.html'))
      .map((name) => [`${base}${name}`, readFileSync(join(directory, name), 'utf8')]),
  )
  return [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/<a [^>]*href="([^"#]*)#([^"]+)"/g)].flatMap(([, path, anchor]) => {
      if (/^\w+:/.test(path)) return []
      const { pathname } = new URL(path === '' ? page : path, `http://site${page}`)
      const target = pages.get(pathname.endsWith('/') ? `${pathname}index.html` : pathname) ?? ''
      return target.includes(`id="${decodeURIComponent(anchor)}"`) ? [] : [`${page}: ${path}#${anchor}`]
    }),
  )
}
