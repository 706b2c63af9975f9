import { failureCode } from '../errors.ts';

/** An invalid response of a token issuer. The message quotes nothing of it. */
export class IssuerFault extends Error {}

/** Describes a failed request to a token issuer, to follow the name of its setting. */
export function issuerProblem(error: unknown): string {
  if (error instanceof IssuerFault) return error.message;
  if (error instanceof Error && error.name === 'TimeoutError') return 'does not answer in time';
  // `fetch` stores the reason in the cause.
  return `cannot be reached${failureCode(error instanceof Error ? (error.cause ?? error) : error)}`;
}

/**
 * Reads a response body as text.
 * @throws {IssuerFault} as soon as it exceeds the limit
 */
export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new IssuerFault(`answers more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
