/** What a rate over zero interviews, or the length of an interview where none is complete, is shown as. */

export const EMPTY_RATES = ['null', 'zero', 'omit'] as const

export type EmptyRates = (typeof EMPTY_RATES)[number]

/** The value of a rate that has none. JSON leaves out what is undefined. */
export const emptyRateOf = (emptyRates: EmptyRates): number | null | undefined => {
  switch (emptyRates) {
    case 'null':
      return null
    case 'zero':
      return 0
    case 'omit':
      return undefined
  }
}
