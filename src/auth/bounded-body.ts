import { IssuerFault } from './issuer-failure.ts';

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
