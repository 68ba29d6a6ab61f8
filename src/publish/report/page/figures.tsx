/** Numbers of a survey or of all, as several parts of the page show them. */
import type { JSX } from 'preact'
import { Bar } from '../charts/small.js'
import type { Formats } from '../formats.js'

/** Its name, its value, and a detail in small print. */
export type Figure = readonly [name: string, value: string, detail: string]

/** `query` is the name of the query of the numbers. */
export const Figures = ({
  figures,
  query,
}: {
  readonly figures: readonly Figure[]
  readonly query: string
}): JSX.Element => (
  <dl class="figures" data-list={query}>
    {figures.map(([name, value, detail]) => (
      <div>
        <dt>{name}</dt>
        <dd>
          <b>{value}</b> <small>{detail}</small>
        </dd>
      </div>
    ))}
  </dl>
)

interface Completed {
  readonly completion_rate: number | null
  readonly interviews_count: number | null
  readonly sample_size: number | null
}

/** A bar, the rate, and the numbers behind it. */
export const Completion = ({
  of,
  formats,
}: {
  readonly of: Completed
  readonly formats: Formats
}): JSX.Element => (
  <>
    <Bar rate={of.completion_rate} />
    <b>{formats.rate(of.completion_rate)}</b>{' '}
    <small>
      {formats.count(of.interviews_count)} of {formats.count(of.sample_size)}
    </small>
  </>
)
