/** The countries of interviews. A source belongs to one, and its respondents keep that country's hours. */

export interface Country {
  /** ISO 3166-1 alpha-2 (API document, "Sample source", `country_code`). */
  readonly code: string
  /** Minutes east of UTC all year, without summer time; the zone with most people where there are several. */
  readonly utcOffsetMinutes: number
}

/** `NO` is here because YAML reads it as false. */
export const COUNTRIES = [
  { code: 'FR', utcOffsetMinutes: 60 },
  { code: 'DE', utcOffsetMinutes: 60 },
  { code: 'GB', utcOffsetMinutes: 0 },
  { code: 'US', utcOffsetMinutes: -300 },
  { code: 'ES', utcOffsetMinutes: 60 },
  { code: 'IT', utcOffsetMinutes: 60 },
  { code: 'NL', utcOffsetMinutes: 60 },
  { code: 'NO', utcOffsetMinutes: 60 },
  { code: 'SE', utcOffsetMinutes: 60 },
  { code: 'PL', utcOffsetMinutes: 60 },
  { code: 'JP', utcOffsetMinutes: 540 },
  { code: 'KR', utcOffsetMinutes: 540 },
  { code: 'CN', utcOffsetMinutes: 480 },
  { code: 'IN', utcOffsetMinutes: 330 },
  { code: 'BR', utcOffsetMinutes: -180 },
  { code: 'MX', utcOffsetMinutes: -360 },
  { code: 'ZA', utcOffsetMinutes: 120 },
  { code: 'AE', utcOffsetMinutes: 240 },
  { code: 'IL', utcOffsetMinutes: 120 },
  { code: 'TR', utcOffsetMinutes: 180 },
  { code: 'NP', utcOffsetMinutes: 345 },
  { code: 'NZ', utcOffsetMinutes: 720 },
] as const satisfies readonly [Country, ...Country[]]
