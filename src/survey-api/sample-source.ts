/** A sample source as the API sends it (API document, "Sample source"): one line per field, which the compiler checks against the row type. */
import { PROVIDERS, type SampleSource } from '../model/fields.js'
import { flatDecoder, type RowDecoder } from './decode.js'
import {
  exactObject,
  flag,
  integer,
  object,
  type ResponseShape,
  text,
  timestamp,
} from './response-schemas.js'

const shape = {
  id: integer,
  provider: text,
  sample_size: integer,
  country_code: text,
  description: text,
  name: text,
  hashid: text,
  panelist_id_required: flag,
  created_at: timestamp,
  updated_at: timestamp,
} satisfies ResponseShape<SampleSource>

export const sampleSourceDecoder: RowDecoder<SampleSource> = flatDecoder(
  'sample_source',
  { schema: object(shape), exact: exactObject(shape) },
  { provider: PROVIDERS },
)

export const decodeSampleSource = sampleSourceDecoder.fromText
