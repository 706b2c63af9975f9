import type { RdcpError } from '../errors.ts';

/** An error as one line for the operator: what the server said, and the details that help to go on. */
export function explain(error: RdcpError): string {
  const details = Object.entries(error.details ?? {})
    .filter(([name, value]) => name !== 'requestId' && value !== '')
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : plain(value)}`);
  const retryAfter = error.headers?.['Retry-After'];
  if (retryAfter !== undefined) details.push(`try again in ${retryAfter} s`);
  if (error.code === 'RDCP_AUTH_REQUIRED') details.push('give --key-file or RDCP_API_KEY');
  const advice = ADVICE.get(error.details?.error);
  if (advice !== undefined) details.push(advice);
  const cause = networkCause(error);
  if (cause !== undefined) details.push(cause);
  return `${error.code}: ${error.message}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
}

/** What to do about a refusal of the token endpoints, by its code of OAuth. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  ['invalid_grant', 'the session has ended: begin another with rdcp token create'],
  ['invalid_scope', 'ask for fewer with --scopes'],
  ['unsupported_token_type', 'revoke it where it was issued'],
]);

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `fetch` says only that it failed; the system's code (ECONNREFUSED, ENOTFOUND, CERT_…) is in its cause. */
function networkCause(error: RdcpError): string | undefined {
  if (error.code !== 'RDCP_UNAVAILABLE' || !(error.cause instanceof Error)) return undefined;
  const { cause } = error.cause;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined;
}
