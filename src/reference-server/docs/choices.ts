/** What the API document leaves open and this server had to choose, one sentence each; where clients could break on it, the choice is an option. */

export const CHOICES: Readonly<Record<string, readonly string[]>> = {
  Errors: [
    'Every error has the body `{"error": "<one sentence>"}`.',
    'A request is looked at in this order: path and method (404, 405), credentials (401), rate cap (429), parameters (400), records (404).',
    'Missing or wrong credentials are 401, and so is a header that is sent twice.',
    'An unknown survey, a survey of another account and a `SURVEY_ID` that is no number are the same 404; a sample source that is not of the survey is 404 as well.',
    'A method other than GET is 405, HEAD and OPTIONS as well; a path with a slash at its end is 404.',
    'A request line and headers of more than 16 KiB are 431; a path that cannot be decoded is 400, whoever asks.',
  ],
  Parameters: [
    'A parameter that cannot mean anything is 400, and is never ignored; parameters that the API document does not name are ignored.',
    'A parameter other than `status[]` that is given twice is 400. `status` and `status[]` may be mixed: a survey with any of the values is kept.',
    'Date-times must have an offset; digits past the microsecond are cut off. A plus sign is written `%2B` in a query.',
    '`page` goes from 1 to 999999999.',
  ],
  Lists: [
    'Records created in the same moment are sorted by `id`, descending. Sample sources are sorted like surveys.',
    'A page past the end is empty, with neither a next nor a previous page; an empty list has 0 pages.',
    'Pages are cut at the moment of each request: what is created meanwhile moves the records down.',
  ],
  Progress: [
    'Percentages run from 0 to 100, and are 0 where no interview is counted.',
    'A rate over zero interviews has no value, and neither has the length of an interview where none is complete: null, 0 or left out, as the option `--empty-rates` says.',
    'The median of an even number of interviews is the mean of the two in the middle, rounded half up.',
    'An interview counts from its start, as incomplete until its end. `started_after` and `started_before` leave `sample_size` alone.',
    'An interview that would be complete when its source has no room left is `above_target`. Targets may be lowered later, so there can be more complete interviews than were asked for.',
    'Some interviews are `pending_analysis` for up to four days before they are decided, the last of them before the survey is complete; a few stay so.',
    "Every interview belongs to one sample source, and a survey's `sample_size` is the sum of its sources'.",
  ],
  Changes: [
    "New interviews do not move a survey's `updated_at`, and neither do changes of its sample sources; these have an `updated_at` of their own.",
    'In surveys where nobody is in the field (draft, complete, user_demo) sample sources change only together with the survey.',
    'A sample source that was removed is no longer listed, is 404 from then on, and its interviews no longer count.',
    'Offsets and the digits of seconds differ from record to record.',
  ],
  Limits: [
    'The cap is counted for each account, on real time, however the world’s clock goes; how is told by the options `--rate-limit` and `--rate-window`.',
    'A request that is answered 429, 401 or 405, or 404 for its path, takes no room; any other does.',
    'Answers 429 have `Retry-After` in seconds, as a date or not at all, as the option `--retry-after` says.',
  ],
  Answers: [
    '`Date` is the time of the world, and an answer is of one moment of it.',
    'Longer answers are compressed with gzip where `Accept-Encoding` allows it.',
  ],
}
