/** How a rate over zero interviews is shown, and the length of an interview where none is complete. */

export const EMPTY_RATES = ['null', 'zero', 'omit'] as const

export type EmptyRates = (typeof EMPTY_RATES)[number]

/** JSON leaves out what is undefined. */
export const EMPTY_RATE_VALUES = { null: null, zero: 0, omit: undefined } as const
