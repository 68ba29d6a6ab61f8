/** API document, "Sample source", field by field from its table. */
import { z } from 'zod'
import { provider } from './enumerations.js'
import { moment, type Shown, text, wholeNumber } from './fields.js'

export const sampleSource = z
  .strictObject({
    id: wholeNumber('ID of the record'),
    provider: provider.meta({ description: 'Type of provider of the source' }),
    sample_size: wholeNumber('Target sample size for this source'),
    /** This server takes ISO 3166-1 alpha-2. */
    country_code: text('ISO 3166 country code'),
    description: text('Long description of the source'),
    name: text('Short description of the source'),
    hashid: text('Identifier of the source used in URLs'),
    panelist_id_required: z.boolean().meta({
      description: 'When true, interviews created in this source must carry a `panelist_id` to be valid',
    }),
    created_at: moment('Creation date and time'),
    updated_at: moment('Last modification date and time'),
  })
  .meta({ description: 'A sample source of a survey' })

export type SampleSourceResource = Shown<z.output<typeof sampleSource>>
