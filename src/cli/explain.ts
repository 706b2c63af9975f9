import type { RdcpError } from '../errors.ts';

/** Formats an error as one line for the operator: the server's message and details, and what to do next. */
export function explain(error: RdcpError): string {
  const details = Object.entries(error.details ?? {})
    .filter(([name, value]) => name !== 'requestId' && value !== '')
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : plain(value)}`);
  const retryAfter = error.headers?.['Retry-After'];
  if (retryAfter !== undefined) details.push(`try again in ${retryAfter} s`);
  if (error.code === 'RDCP_AUTH_REQUIRED') details.push('pass --key-file or RDCP_API_KEY');
  const advice = ADVICE.get(error.details?.error);
  if (advice !== undefined) details.push(advice);
  const cause = networkCause(error);
  if (cause !== undefined) details.push(cause);
  return `${error.code}: ${error.message}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
}

/** What to do about an error of the token endpoints, by OAuth error code. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  ['invalid_grant', 'the session has ended: start another with rdcp token create'],
  ['invalid_scope', 'request fewer scopes with --scopes'],
  ['unsupported_token_type', 'revoke it at the server that issued it'],
]);

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The error of `fetch` only says that it failed; its cause has the system's code (ECONNREFUSED, ENOTFOUND, CERT_…). */
function networkCause(error: RdcpError): string | undefined {
  if (error.code !== 'RDCP_UNAVAILABLE' || !(error.cause instanceof Error)) return undefined;
  const { cause } = error.cause;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined;
}
