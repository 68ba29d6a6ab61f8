/**
 * The texts of the world: titles in many scripts, with quotes, backslashes, commas and emoji, or that look like a number,
 * a formula or nothing, or plain ones; project ids that look like numbers but are strings; the countries of sources; moments in different
 * styles. Every text is one line and valid by the API document. Invisible characters are written as escapes.
 */
import type { Titles } from '../option-texts.js'
import { MICROS_PER_MS, MICROS_PER_SECOND, type TimeStyle } from '../time.js'
import type { Random } from './random.js'
import type { Grain } from './timeline.js'

const SUBJECTS = [
  'Brand tracker',
  'Café & thé – habitudes',
  'Zufriedenheit der Kunden: Größe, Öl & Maß',
  'Encuesta "Hogar y familia"',
  "L'été à la plage",
  '顧客満足度調査',
  '消费者品牌认知',
  'Отношение к рекламе',
  'استطلاع رضا العملاء',
  'סקר שביעות רצון',
  '고객 만족도 조사',
  'ग्राहक संतुष्टि',
  'Έρευνα αγοράς',
  'Concept test 🚀',
  'Families 👩‍👩‍👧‍👦 and pets 🐶',
  'Price; value, "quality"',
  'Path C:\\panel\\wave',
  'Şehir içi ulaşım',
  '50% off? <b>Yes</b> & no',
  'お客様アンケート',
  'แบบสำรวจความพึงพอใจ',
  'მომხმარებელთა გამოკითხვა',
  'የደንበኞች እርካታ ጥናት',
  'Սպառողների հարցում',
  'வாடிக்கையாளர் கருத்து',
  'Khảo sát người tiêu dùng'.normalize('NFC'),
  'Khảo sát người tiêu dùng'.normalize('NFD'),
  'استطلاع \u2066iPhone 15 (Pro)\u2069 – رأيك',
  'סקר \u200fABC-12\u200e 3+4',
  'Pride 🏳️\u200d🌈 and work 👩🏽\u200d🚀 ☎️',
  'Prix\u00a0: 5\u00a0€\u202f?',
  'क्\u200dष और \u200bक्ष',
  '𠮷野家 & 𝒇𝒂𝒏𝒄𝒚',
  `Long tracker: ${'all that was agreed in the meeting, '.repeat(14)}and more`,
] as const

/** Whole titles that a program takes for another type if it guesses types. */
const BARE_TITLES =
  '|0|2026|007|1e5|null|NULL|NaN|true|=1+1|+33 1|-|@home|2026-03-01| spaces around |{"a":[1]}'.split('|')
const BARE_TITLE_PROBABILITY = 0.06

const MARKETS = ['FR', 'DE', 'UK', 'US', 'IN', 'JP', 'BR', 'worldwide', 'Q1', 'Q2', 'pilot'] as const

/** The title after `edits` edits, each of which changes it. */
export const titleOf = (random: Random, edits: number, titles: Titles = 'odd'): string => {
  const base = titles === 'plain' ? plainTitleOf(random) : oddTitleOf(random)
  return edits === 0 ? base : `${base} (v${edits + 1})`
}

const oddTitleOf = (random: Random): string =>
  random.chance(BARE_TITLE_PROBABILITY)
    ? random.pick(BARE_TITLES)
    : `${random.pick(SUBJECTS)} ${random.pick(MARKETS)} ${1 + random.below(40)}`

const PLAIN_SUBJECTS =
  'Brand tracker|Customer satisfaction|Ad test|Concept test|Pack test|Price study|Usage study|Image study'.split(
    '|',
  )
const PLAIN_MARKETS = 'DE|FR|UK|US|ES|IT|NL|PL|JP|BR'.split('|')

const plainTitleOf = (random: Random): string =>
  `${random.pick(PLAIN_SUBJECTS)} ${random.pick(PLAIN_MARKETS)}, wave ${1 + random.below(24)}`

/** A project id drawn from the stream of its edit; null is not set. The id differs from `unlike`, the previous id. */
export const projectIdOf = (random: Random, unlike: string | null | undefined): string | null => {
  const drawn = drawProjectId(random)
  if (drawn !== unlike) return drawn
  return unlike === null ? `PRJ-${1 + random.below(99_999)}` : null
}

const drawProjectId = (random: Random): string | null => {
  const number = 1 + random.below(99_999)
  const kind = random.weighted([0.3, 0.35, 0.15, 0.1, 0.05, 0.04, 0.01])
  const power = kind === 4 ? `${1 + random.below(9)}e${random.below(9)}` : ''
  const ids = [null, `PRJ-${number}`, String(number).padStart(8, '0'), `2026/${number}`, power]
  return [...ids, `projet n° ${number}`, ''][kind] ?? null
}

const SOURCE_NAMES = 'Main panel|Boost 18–24|Client file|Réseaux sociaux|オンラインパネル|Import'.split('|')
/** As many as the odd ones, so that a name takes the same numbers of the stream. */
const PLAIN_SOURCE_NAMES = 'Main panel|Boost 18–24|Client file|Social media|Online panel|Import'.split('|')

export const sourceNameOf = (random: Random, titles: Titles = 'odd'): string =>
  `${random.pick(titles === 'plain' ? PLAIN_SOURCE_NAMES : SOURCE_NAMES)} ${1 + random.below(9)}`

const SOURCE_DESCRIPTIONS = [
  '',
  'General population, 18+, quotas on age × gender × region',
  'Customers of the last 12 months; "active" only',
  'Parents d’enfants de 3 à 12 ans',
  'Boost sample 💡',
] as const
/** As many as the odd ones. None is empty: an edit would leave only its number. */
const PLAIN_SOURCE_DESCRIPTIONS = [
  'Adults from 18 to 64',
  'General population, 18+',
  'Customers of the last 12 months',
  'Parents of children from 3 to 12',
  'Boost sample',
] as const

/** The description after `edits` edits. An odd one contains `number`, so that the texts of two edited sources differ. */
export const sourceDescriptionOf = (
  random: Random,
  number: number,
  edits: number,
  titles: Titles = 'odd',
): string => {
  if (titles === 'plain') {
    const base = random.pick(PLAIN_SOURCE_DESCRIPTIONS)
    return edits === 0 ? base : `${base} (v${edits + 1})`
  }
  const base = random.pick(SOURCE_DESCRIPTIONS)
  return edits === 0 ? base : `${base} [edit ${edits}] #${number}`.trimStart()
}

const HASHID_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `hashid` of any record: 10 letters and digits. */
export const hashidOf = (random: Random): string => random.text(10, HASHID_ALPHABET)

/** A source belongs to a country, and its respondents keep that country's hours. */
export interface Country {
  /** ISO 3166-1 alpha-2 (API document, "Sample source", `country_code`). */
  readonly code: string
  /** Minutes east of UTC all year, without summer time; the zone with most people if there are several. */
  readonly utcOffsetMinutes: number
}

/** `NO` is here because YAML reads it as false. */
export const COUNTRIES: readonly Country[] = `
  FR 60, DE 60, GB 0, US -300, ES 60, IT 60, NL 60, NO 60, SE 60, PL 60, JP 540, KR 540, CN 480,
  IN 330, BR -180, MX -360, ZA 120, AE 240, IL 120, TR 180, NP 345, NZ 720`
  .split(',')
  .map((country) => country.trim().split(' '))
  .map(([code = '', minutes]) => ({ code, utcOffsetMinutes: Number(minutes) }))

/**
 * Every offset that is in use somewhere, including summer time. `Z` and `+00:00` come more often. `-00:00` never comes:
 * it is valid in RFC 3339 only, because ISO 8601 has no negative sign for zero.
 */
const OFFSETS_MINUTES = [
  ...([null, null, null, null, null, null, null, null, 0, 0, 0] as const),
  ...([-720, -660, -600, -570, -540, -480, -420, -360, -300, -240, -210, -180, -150, -120, -60] as const),
  ...([60, 120, 180, 210, 240, 270, 300, 330, 345, 360, 390, 420, 480, 525, 540, 570, 600] as const),
  ...([630, 660, 720, 765, 780, 825, 840] as const),
] as const

/**
 * Records of one organization write time in different styles: offsets differ by country and season, and some have
 * fractions of a second. All styles are valid by the API document, and a client has to read them.
 */
export const drawTimeStyle = (random: Random, grain: Grain): TimeStyle => ({
  offsetMinutes: random.pick(OFFSETS_MINUTES),
  fractionDigits: grain === MICROS_PER_SECOND ? 0 : grain === MICROS_PER_MS ? 3 : 6,
})
