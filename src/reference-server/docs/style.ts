/** How the docs page looks: one column, readable on a phone, in the dark and printed. It loads nothing. */
export const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 22%, transparent); --soft: color-mix(in srgb, currentColor 7%, transparent) }
* { box-sizing: border-box }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 64rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; overflow-wrap: break-word }
h1 { font-size: 1.7rem; line-height: 1.2 }
h2 { margin-top: 3rem; padding-top: .5rem; border-top: 2px solid var(--line) }
h3 { margin-top: 2.25rem }
h3 code { font-size: 1rem }
h4 { margin: 1.25rem 0 .4rem }
a { color: inherit; text-underline-offset: .15em }
nav ul { columns: 16rem; padding-left: 1.2rem }
code, pre { font: .9em/1.45 ui-monospace, monospace }
code { background: var(--soft); border-radius: .2rem; padding: .05em .25em }
pre { background: var(--soft); border-radius: .3rem; padding: .75rem 1rem; white-space: pre-wrap }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line) }
th { font-size: .85rem }
td:first-child { white-space: nowrap }
.method { font-weight: 700 }
.note { opacity: .75 }
@media (max-width: 42rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line) }
  td { display: block; border: 0; padding: .05rem 0 }
  td:first-child { white-space: normal }
  td[data-label]:not(:first-child)::before { content: attr(data-label) ": "; font-size: .85rem; opacity: .75 }
}
@media print {
  body { max-width: none; font-size: 10pt }
  nav { display: none }
  h2, h3, h4 { break-after: avoid }
  tr, pre { break-inside: avoid }
}
`
