/**
 * Seconds as a date and a time of day, from tables. A page of surveys writes a hundred moments, and `Date.toISOString`
 * was a fifth of what the page cost; this takes a quarter of that.
 */

/** A second since 1970-01-01T00:00:00Z as `YYYY-MM-DDTHH:MM:SS`; for the years 0 to 9999 of the Gregorian calendar. */
export const formatDateTime = (seconds: number): string => {
  const day = Math.floor(seconds / SECONDS_PER_DAY)
  const second = seconds - day * SECONDS_PER_DAY
  return `${formatDay(day)}T${HOURS_MINUTES[Math.floor(second / 60)] ?? ''}:${twoDigits(second % 60)}`
}

/** A number below 100. */
export const twoDigits = (number: number): string => TWO_DIGITS[number] ?? ''

const SECONDS_PER_DAY = 86_400
const DAYS_PER_400_YEARS = 146_097
/** 0000-03-01 is so long before 1970. Years are counted from March, so that a leap day is the last of its year. */
const DAYS_FROM_YEAR_0_TO_1970 = 719_468
/** From March to December; the days after them are of the next year of the calendar. */
const DAYS_FROM_MARCH_TO_JANUARY = 306

const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/** `HH:MM` of each minute of a day. */
const HOURS_MINUTES = Array.from(
  { length: 24 * 60 },
  (_, minute) => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`,
)

/** `-MM-DD` of each day of a year that begins in March and has a leap day. */
const MONTHS_DAYS = Array.from({ length: 366 }, (_, day) =>
  new Date(Date.UTC(2003, 2, 1 + day)).toISOString().slice('2003'.length, '2003-03-01'.length),
)

const formatDay = (daysSince1970: number): string => {
  const days = daysSince1970 + DAYS_FROM_YEAR_0_TO_1970
  const cycle = Math.floor(days / DAYS_PER_400_YEARS)
  const inCycle = days - cycle * DAYS_PER_400_YEARS
  // Without the leap days, which come every 4 years but not every 100, all years are of 365 days.
  const leapDays =
    Math.floor(inCycle / 1_460) -
    Math.floor(inCycle / 36_524) +
    Math.floor(inCycle / (DAYS_PER_400_YEARS - 1))
  const year = Math.floor((inCycle - leapDays) / 365)
  const inYear = inCycle - (365 * year + Math.floor(year / 4) - Math.floor(year / 100))
  const calendarYear = cycle * 400 + year + (inYear < DAYS_FROM_MARCH_TO_JANUARY ? 0 : 1)
  return `${String(calendarYear).padStart(4, '0')}${MONTHS_DAYS[inYear] ?? ''}`
}
