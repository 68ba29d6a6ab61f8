/** Decodes quarantined rows again, which an earlier version could not type. */
import type { DecodeAgain } from '../model/warehouse.js'
import { decodeProgress } from './fieldwork-progress.js'
import { decodeSampleSource } from './sample-source.js'
import { decodeSurvey } from './survey.js'

export const decodeAgain: DecodeAgain = ({ endpoint, raw }) => {
  if (endpoint === 'surveys') {
    const decoded = decodeSurvey(raw)
    return decoded.ok ? { survey: decoded.row, drift: decoded.drift } : null
  }
  const decoded = endpoint === 'sample_sources' ? decodeSampleSource(raw) : decodeProgress(raw)
  return decoded.ok ? { survey: null, drift: decoded.drift } : null
}
