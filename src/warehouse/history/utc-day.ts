/** UTC days in SQL, for any time zone of the session, and without an extension that a reader may lack. */

/** The UTC day of a moment, as a DATE. */
export const utcDay = (moment: string): string => `CAST(make_timestamp(epoch_us(${moment})) AS DATE)`

/** The moment at which a UTC day begins. */
export const dayStart = (day: string): string => `to_timestamp(epoch(${day}))`
