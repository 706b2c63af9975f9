import { failureCode } from '../errors.ts';

/** What is wrong with the answer of a token issuer, in words that hold nothing of it. */
export class IssuerFault extends Error {}

/**
 * Why a token issuer could not be asked, after the name of the setting with its address.
 * @param error what a request to it rejected with
 */
export function issuerProblem(error: unknown): string {
  if (error instanceof IssuerFault) return error.message;
  if (error instanceof Error && error.name === 'TimeoutError') return 'does not answer in time';
  // `fetch` puts the reason into the cause.
  return `cannot be reached${failureCode(error instanceof Error ? (error.cause ?? error) : error)}`;
}
