/**
 * A request that is answered with an error. The API document leaves the body open; here it is
 * `{"error": "<one sentence>"}`, the same for every status.
 */
export class Refusal extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
  }
}
