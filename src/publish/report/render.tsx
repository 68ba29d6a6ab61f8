/**
 * The report as one HTML file. The content security policy allows the inline style and script by their hashes, and nothing else. So no
 * request can leave the page, whatever a title contains.
 */
import { createHash } from 'node:crypto'
import { renderToString } from 'preact-render-to-string'
import { packageVersion } from '../../base/version.js'
import { createFormats, datedTitle, type ReportSettings } from './formats.js'
import { Footer, Header, Overview } from './page/page.js'
import { SCRIPT } from './page/script.js'
import { pageNumbers, STYLE } from './page/style.js'
import { Survey } from './page/survey.js'
import { newestReading, type ReportPage } from './page/words.js'
import { keyOf, type ReportRows } from './read.js'

/** The beginning of every report, by which we know that a file may be replaced by another report. */
export const REPORT_START =
  '<!doctype html>\n<html lang="en">\n<head>\n<meta name="generator" content="fieldwork-sync report">'

/**
 * Sections are written until the report has this size, first for surveys that need action. So a report of a year and of 1,200 surveys in
 * the field stays below 3 MB.
 */
const SECTIONS_BYTES_MAX = 1_750_000
const SECTION_BYTES_MAX = SECTIONS_BYTES_MAX / 5

/** `sections` is the number of surveys with a section. */
export const renderReport = (
  rows: ReportRows,
  settings: ReportSettings,
): { readonly html: string; readonly sections: number } => {
  const page = {
    rows,
    formats: createFormats(settings),
    sections: new Set<string>(),
    surveyUrl: settings.survey_url ?? null,
  }
  const sections = sectionsOf(page)
  const whole: ReportPage = { ...page, sections: new Set(sections.keys()) }
  const title = datedTitle(settings, newestReading(rows))
  const style = `${STYLE}${pageNumbers(title)}`
  const html = `${REPORT_START}
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${hash(style)}; script-src ${hash(SCRIPT)}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
${renderToString(<title>{title}</title>)}
<style>${style}</style>
</head>
<body data-locale="${settings.locale}">
<a class="skip" href="#main">Skip to the report</a>
<div class="page">
${renderToString(<Header page={whole} title={settings.title} />)}
<main id="main">
${renderToString(<Overview page={whole} />)}
${[...sections.values()].join('\n')}
</main>
${renderToString(<Footer page={whole} program={`fieldwork-sync ${packageVersion()}`} />)}
</div>
<script>${SCRIPT}</script>
</body>
</html>
`
  return { html, sections: sections.size }
}

/** The sections by key, in the order in which surveys need attention. */
const sectionsOf = (page: ReportPage): ReadonlyMap<string, string> => {
  const sections = new Map<string, string>()
  let bytes = 0
  for (const survey of page.rows.surveys) {
    const section = renderToString(<Survey survey={survey} page={page} />)
    const size = Buffer.byteLength(section)
    // A section that is too long is left out, to leave room for other sections.
    if (size > SECTION_BYTES_MAX) continue
    bytes += size
    if (bytes > SECTIONS_BYTES_MAX) break
    sections.set(keyOf(survey), section)
  }
  return sections
}

const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
