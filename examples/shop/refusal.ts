/** The shop says no; the message is for the customer. */
export class Refusal extends Error {
  readonly status: 400 | 401 | 404 | 409 | 502;

  constructor(status: Refusal['status'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
