import { RdcpResponseError } from '../client/response-error.ts';
import type { RdcpError } from '../errors.ts';
import { EXIT } from './command.ts';

/** Formats an error as one line for the operator: the server's message and details, and what to do next. */
export function explain(error: RdcpError): string {
  const details = Object.entries(error.details ?? {})
    .filter(([name, value]) => name !== 'requestId' && value !== '')
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : plain(value)}`);
  const retryAfter = error.headers?.['Retry-After'];
  if (retryAfter !== undefined) details.push(`try again in ${retryAfter} s`);
  const cause = networkCause(error);
  if (cause !== undefined) details.push(cause);
  const untrusted = cause !== undefined && UNTRUSTED.has(cause);
  const silent = isUnreachable(error) && /cannot be reached$|did not respond/.test(error.message);
  const advice = untrusted
    ? TRUST
    : silent
      ? UNREACHABLE
      : (ADVICE.get(error.details?.error) ?? ADVICE.get(error.code));
  if (advice !== undefined) details.push(advice);
  return `${error.code}: ${error.message}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
}

export function exitCodeOf(error: RdcpError): number {
  return isUnreachable(error) ? EXIT.unreachable : EXIT.refused;
}

/** Whether no RDCP server has answered. A gateway answers for a server that it cannot reach, without an RDCP error. */
function isUnreachable(error: RdcpError): boolean {
  if (error.code !== 'RDCP_UNAVAILABLE' && error.code !== 'RDCP_TIMEOUT') return false;
  return !(error instanceof RdcpResponseError) || error.serverCode === undefined;
}

const UNREACHABLE = 'is the service running? --url, RDCP_URL or a profile names another address';

/** OpenSSL's codes for a certificate that leads to no authority that Node.js trusts. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const TRUST =
  "the server's certificate is not trusted: NODE_EXTRA_CA_CERTS=FILE, or --ca FILE with 'rdcp login', names its authority";

/** What to do about an error, by its code, or by that of OAuth. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  ['RDCP_AUTH_REQUIRED', "log in with 'rdcp login', or pass --key-file or RDCP_API_KEY"],
  ['RDCP_AUTH_FAILED', "the credential is wrong, revoked or expired; 'rdcp login' stores another one"],
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
