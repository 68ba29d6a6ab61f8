/** Dates in odd forms, and a reader of them that shares no code with the reader under test. */
import fc from 'fast-check'

const digits = (length: number, min: number, max: number) =>
  fc.integer({ min, max }).map((value) => String(value).padStart(length, '0'))
const two = (max: number) => digits(2, 0, max)
const mostly = (usual: fc.Arbitrary<string>, ...odd: readonly string[]) =>
  fc.oneof({ weight: 8, arbitrary: usual }, fc.constantFrom(...odd))

/** Texts like ISO 8601, with leap seconds, year 0, impossible days, any offset or none, and any number of digits. */
export const anyTime: fc.Arbitrary<string> = fc
  .record({
    year: mostly(digits(4, 0, 9999), '0000', '9999', '-001', '12026', '26'),
    month: mostly(digits(2, 1, 12), '00', '13', '2'),
    day: mostly(digits(2, 1, 31), '00', '32', '29'),
    t: mostly(fc.constant('T'), ' ', 't', ''),
    hour: mostly(two(23), '24', '25'),
    minute: mostly(two(59), '60'),
    second: mostly(
      two(59).map((second) => `:${second}`),
      '',
      ':60',
      ':61',
      ':5',
    ),
    fraction: fc.oneof(
      fc.constant(''),
      fc.constantFrom('.', ',', '.0', ',5', '.1234567890', '.999999999', '.0000001'),
      fc.nat({ max: 999_999 }).map((micros) => `.${String(micros).padStart(6, '0')}`),
    ),
    offset: fc.oneof(
      { weight: 4, arbitrary: fc.constant('Z') },
      fc.constantFrom('', 'z', '+99:99', '+24:00', '+2', '+02', '-0330', '-00:00', 'UTC', 'Z ', '+01:60'),
      fc
        .tuple(fc.constantFrom('+', '-'), two(23), two(59))
        .map(([sign, hour, minute]) => `${sign}${hour}:${minute}`),
    ),
  })
  .map(
    (one) =>
      `${one.year}-${one.month}-${one.day}${one.t}${one.hour}:${one.minute}${one.second}${one.fraction}${one.offset}`,
  )

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const daysIn = (year: number, month: number): number =>
  month === 2 && isLeap(year) ? 29 : (DAYS[month - 1] ?? 0)

/** Days since 1970-01-01, counted in steps of years and months. */
const dayNumber = (year: number, month: number, day: number): number => {
  // 400 years always have 146097 days, which keeps the number of steps small.
  let days = (Math.floor(year / 400) - 5) * 146_097
  for (let at = 2000; at < 2000 + (((year % 400) + 400) % 400); at += 1) days += isLeap(at) ? 366 : 365
  for (let at = 1; at < month; at += 1) days += daysIn(year, at)
  // From 1970 to 2000 there are 10957 days.
  return days + day - 1 + 10_957
}

const isDigits = (text: string, length: number): boolean =>
  text.length === length && [...text].every((char) => '0123456789'.includes(char))

/** Microseconds since 1970; null for a text that is not an ISO 8601 date-time with an offset. Reads from left to right. */
export const slowInstant = (text: string): bigint | null => {
  let rest = text
  const digits = (length: number, max: number): number => {
    const found = rest.slice(0, length)
    if (!isDigits(found, length) || Number(found) > max) throw new RangeError(text)
    rest = rest.slice(length)
    return Number(found)
  }
  const mark = (...marks: readonly string[]): string => {
    const found = marks.find((one) => rest.startsWith(one))
    if (found === undefined) throw new RangeError(text)
    rest = rest.slice(found.length)
    return found
  }
  try {
    const year = digits(4, 9999)
    mark('-')
    const month = digits(2, 12)
    mark('-')
    const day = digits(2, daysIn(year, month))
    if (day === 0) return null
    mark('T')
    let seconds = digits(2, 23) * 3600
    mark(':')
    seconds += digits(2, 59) * 60
    let micros = 0n
    if (rest.startsWith(':')) {
      mark(':')
      seconds += digits(2, 59)
      if (rest.startsWith('.') || rest.startsWith(',')) micros = fractionOf(rest, (left) => (rest = left))
    }
    if (mark('Z', '+', '-') !== 'Z') {
      const east = text[text.length - rest.length - 1] === '+' ? -1 : 1
      seconds += east * digits(2, 23) * 3600
      if (rest.startsWith(':')) {
        mark(':')
        if (rest === '') return null
      }
      if (rest !== '') seconds += east * digits(2, 59) * 60
    }
    return rest === '' ? BigInt(dayNumber(year, month, day) * 86_400 + seconds) * 1_000_000n + micros : null
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const fractionOf = (text: string, leave: (rest: string) => void): bigint => {
  let end = 1
  while (isDigits(text[end] ?? '', 1)) end += 1
  if (end === 1) throw new RangeError('a fraction without digits')
  leave(text.slice(end))
  return BigInt(`${text.slice(1, end)}000000`.slice(0, 6))
}
