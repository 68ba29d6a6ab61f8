/** Numbers, days and instants as people read them, in the locale and the time zone of the settings. */
import { DAY_MS } from '../../base/durations.js'
import { type Instant, instantToMs } from '../../model/instant.js'

export interface ReportSettings {
  /** The title of the page and its tab, such as the name of the organization. */
  readonly title: string
  /** IANA name. */
  readonly time_zone: string
  /** BCP 47 tag of the numbers and dates. The words of the page are English. */
  readonly locale: string
  /** Where a survey opens in the service, with `{hashid}`. */
  readonly survey_url?: string | undefined
}

export type Formats = ReturnType<typeof createFormats>

/** A day has no time zone: `2026-03-01`, or its number since 1970. */
export type Day = string | number

const msOf = (day: Day): number => (typeof day === 'number' ? day * DAY_MS : Date.parse(day))

const YEAR_IS_CLEAR_MS = 180 * DAY_MS

/** A value that is not known. */
export const UNKNOWN = '–'

export const createFormats = ({
  time_zone: timeZone,
  locale,
}: Pick<ReportSettings, 'time_zone' | 'locale'>) => {
  const rough = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const roundest = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
  const cents = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  const date = { year: 'numeric', month: 'short', day: 'numeric' } as const
  const instants = new Intl.DateTimeFormat(locale, {
    ...date,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
  })
  const dates = new Intl.DateTimeFormat(locale, { ...date, timeZone })
  const days = new Intl.DateTimeFormat(locale, { ...date, timeZone: 'UTC' })
  const shortDays = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' })

  const orUnknown =
    <Value>(format: (value: Value) => string) =>
    (value: Value | null): string =>
      value === null ? UNKNOWN : format(value)

  const number = (options?: Intl.NumberFormatOptions) =>
    orUnknown<number>(new Intl.NumberFormat(locale, options).format)

  return {
    timeZone,
    count: number(),
    /** With one digit after the point if the number is small. */
    rough: orUnknown((value: number) => (Math.abs(value) < 100 ? rough : roundest).format(value)),
    /** With cents if the amount is small. */
    money: (value: number, currency: string | null): string =>
      [(Math.abs(value) < 100 ? cents : roundest).format(value), currency ?? ''].join(' ').trim(),
    rate: number({ style: 'percent', maximumFractionDigits: 0 }),
    fineRate: number({ style: 'percent', maximumFractionDigits: 1 }),
    /** With one digit after the point, so that they align. */
    minutes: number({ minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    signed: number({ signDisplay: 'exceptZero' }),
    instant: orUnknown((value: Instant) => instants.format(instantToMs(value))),
    date: orUnknown((value: Instant) => dates.format(instantToMs(value))),
    day: orUnknown((value: Day) => days.format(msOf(value))),
    /** The day, without its year if it is close to `other`. */
    dayNear: (day: Day, other: Day): string =>
      (Math.abs(msOf(day) - msOf(other)) < YEAR_IS_CLEAR_MS ? shortDays : days).format(msOf(day)),
    shortDay: orUnknown((value: Day) => shortDays.format(msOf(value))),
  }
}

/** `Fieldwork report, 2 Mar 2026`: the day of the newest reading. */
export const datedTitle = (settings: ReportSettings, newest: Instant | null): string =>
  [settings.title, ...(newest === null ? [] : [createFormats(settings).date(newest)])].join(', ')
