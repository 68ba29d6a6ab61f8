/** Words and small parts that several parts of the page use. */
import type { JSX } from 'preact'
import { keyOf, type SurveyKey } from '../read.js'
import type { ReportPage } from './context.js'

/** `deviating_from_specs` becomes `deviating from specs`. */
export const spaced = (name: string): string => name.replaceAll('_', ' ')

/** A link needs a text. */
export const titleOf = ({ title }: { readonly title: string }): string =>
  title.trim() === '' ? '(no title)' : title

/** Titles may be in any script, so each finds its own direction. */
export const SurveyLink = ({
  survey,
  page,
}: {
  readonly survey: SurveyKey & { readonly title: string }
  readonly page: ReportPage
}): JSX.Element => {
  const title = <bdi>{titleOf(survey)}</bdi>
  const key = keyOf(survey)
  return page.sections.has(key) ? <a href={`#${key}`}>{title}</a> : title
}

/** A status with a sign of its own, so that colour is not needed. */
export const Status = ({ status }: { readonly status: string }): JSX.Element => (
  <span class={`status ${status}`}>{spaced(status)}</span>
)

/** `1 survey stands still`, `2 surveys stand still` */
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)
