/** What a rate over zero interviews, or the length of an interview where none is complete, is shown as. */

export const EMPTY_RATES = ['null', 'zero', 'omit'] as const

export type EmptyRates = (typeof EMPTY_RATES)[number]
