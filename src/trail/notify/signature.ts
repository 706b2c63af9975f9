import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/** Returns the key of a secret, `whsec_` and base64; `undefined` if it is malformed or not of 24 to 64 bytes. */
export function keyOfSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return undefined;
  const encoded = secret.slice(PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  const isBase64 = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '');
  return isBase64 && key.length >= 24 && key.length <= 64 ? key : undefined;
}

/** The headers of an attempt (Standard Webhooks): one signature by each key. */
export function signedHeaders(
  keys: readonly Buffer[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): Record<string, string> {
  const content = `${id}.${seconds}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
  };
}
