/**
 * The rules of the API document outside its tables of fields, sentence by sentence under their headings, typed in by
 * hand from its text. `rules.test.ts` checks the reference server for each one: without a check it does not compile.
 */
export const RULES = {
  'What the service does': [
    'three operations exist, all reads (GET)',
    'every request is authenticated with an identifier and a token in headers',
    'list operations are paginated',
    'list operations are sorted by creation date, most recent first',
    'all endpoints are subject to a request rate cap',
    'the base address ends with the path prefix /api/v1',
  ],
  'Resources and their fields': [
    'timestamps are ISO 8601 strings with a time-zone offset',
    'hashid values are strings',
  ],
  'Fieldwork progress': [
    'interviews_count is the number of complete interviews',
    'completion_rate = complete / sample_size',
    'questionnaire_incidence_rate = complete / (complete + screen_out + quota_full + incomplete)',
    'target_incidence_rate = complete / (complete + screen_out)',
    'incidence_rate has the formula of target_incidence_rate',
    'drop_out_rate = incomplete / all interviews',
    'length_of_interview is whole seconds',
    'interview_count_by_status has one entry per interview status',
    'interviews with the Ignored status are omitted',
  ],
  'Pagination object': [
    'is at the end of every list response',
    'current_page is the requested page, the first page if none was requested',
    'next_page is the next page number, null on the last page',
    'prev_page is the page number before, null on the first page',
    'total_pages is the number of pages that have records',
    'total_count is the number of records on all pages',
  ],
  'List surveys': [
    "returns the surveys of the caller's organization, and no others",
    'status filters on one value',
    'status[] filters on several values',
    'updated_since returns the records modified since this date, the date itself included',
    'page picks the page',
  ],
  'List the sample sources of a survey': ['returns the sources of that survey alone', 'page picks the page'],
  'View the fieldwork progress of a survey': [
    'is one object with one key, without pagination',
    'sample_source_id restricts the indicators to that source',
    'started_after keeps interviews that started on or after it; left out, there is no lower bound',
    'started_before keeps interviews that started on or before it; left out, there is no upper bound',
  ],
  Authentication: ['both headers must be sent on each request'],
  Errors: ['429 when the rate cap is exceeded'],
  Limits: ['60 requests per minute by default', 'one cap holds for all endpoints together'],
  Versioning: ['the version is in the path prefix'],
} as const

export type Section = keyof typeof RULES
