/** The choices of this server where the API document leaves one. Where clients could break on a choice, it is an option. */

export const CHOICES: Readonly<Record<string, readonly string[]>> = {
  Errors: [
    'Every error has the body `{"error": "<one sentence>"}`.',
    'A request is checked in this order: path and method (404, 405), credentials (401), rate cap (429), parameters (400), records (404).',
    'Missing or wrong credentials are 401, and so is a credentials header that is sent twice.',
    'An unknown survey, a survey of another account and a `SURVEY_ID` that is no number get the same 404; a sample source of another survey is also 404.',
    'A method other than GET is 405, including HEAD and OPTIONS; a path that ends with a slash is 404.',
    'A request line and headers of more than 16 KiB are 431; a path that cannot be decoded is 400, with any credentials.',
  ],
  Parameters: [
    'An invalid parameter is 400 and never ignored; parameters that the API document does not name are ignored.',
    'A parameter other than `status[]` that is given twice is 400. `status` and `status[]` may be mixed: the list has surveys with any of the values.',
    'Date-times must have an offset; digits past the microsecond are cut off. A plus sign is written `%2B` in a query.',
    '`page` goes from 1 to 999999999.',
  ],
  Lists: [
    'Records created in the same moment are sorted by `id`, descending. Sample sources are sorted like surveys.',
    'A page past the end is empty, with neither a next nor a previous page; an empty list has 0 pages.',
    'Each request divides the list into pages anew: a record that is created between two requests moves the others down.',
  ],
  Progress: [
    'Percentages run from 0 to 100, and are 0 where no interview is counted.',
    'A rate over zero interviews has no value, and neither has the length of an interview where none is complete. The option `--empty-rates` decides whether it is null, 0 or left out.',
    'The median of an even number of interviews is the mean of the two in the middle, rounded half up.',
    'An interview counts from its start, as incomplete until its end. `started_after` and `started_before` do not change `sample_size`.',
    'An interview that would be complete after its source has reached its target is `above_target`. Targets may be lowered later, so there can be more complete interviews than the target.',
    'Some interviews are `pending_analysis` for up to four days, until they are decided before the survey is complete; a few stay `pending_analysis`.',
    "Every interview belongs to one sample source, and a survey's `sample_size` is the sum of its sources'.",
  ],
  Changes: [
    "New interviews do not move a survey's `updated_at`, and neither do changes of its sample sources, which have their own `updated_at`.",
    'In a survey that is draft, complete or user_demo, sample sources change only together with the survey.',
    'A sample source that was removed is no longer listed and is 404; its interviews no longer count.',
    'Offsets and the digits of seconds differ from record to record.',
  ],
  Limits: [
    'The cap counts the requests of each account in real time, whatever the world’s clock does. The options `--rate-limit` and `--rate-window` set it.',
    'Requests that are answered 429, 401 or 405, or 404 for their path, do not count against the cap; all others do.',
    'The option `--retry-after` decides whether answers 429 have `Retry-After` in seconds, as a date or not at all.',
  ],
  Answers: [
    '`Date` is the time of the world, and the whole answer describes that moment.',
    'Longer answers are compressed with gzip if `Accept-Encoding` allows it.',
  ],
}
