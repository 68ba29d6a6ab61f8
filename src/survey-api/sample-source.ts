/** A sample source as the API sends it (API document, "Sample source"): one line a field, held to the row type by the compiler. */
import { PROVIDERS, type SampleSource } from '../model/fields.js'
import {
  type Decoded,
  decodeRow,
  extraOf,
  unknownFieldDrift,
  unknownMembers,
  unknownValueDrift,
} from './decode.js'
import { flag, integer, object, type ResponseShape, text, timestamp } from './response-schemas.js'

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

const schema = object(shape)

/** Decodes the JSON text of one sample source. Never throws on text that is JSON. */
export const decodeSampleSource = (raw: string): Decoded<SampleSource> =>
  decodeRow('sample_source', raw, schema, (fields, json) => {
    const unknown = unknownMembers(json, shape)
    return {
      row: { ...fields, _extra: extraOf(unknown) },
      drift: [
        ...unknownFieldDrift('sample_source', unknown.keys()),
        ...unknownValueDrift('sample_source', 'provider', fields.provider, PROVIDERS),
      ],
    }
  })
