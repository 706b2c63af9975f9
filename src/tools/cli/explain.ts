import { allowSchema } from '../../wire/allow.ts';
import { allowText } from '../../wire/allow-text.ts';
import { HEADERS } from '../../wire/constants.ts';
import { isOutcomeUnknown, isRdcpError, type RdcpError } from '../../wire/errors.ts';
import { messageOf } from '../../wire/thrown.ts';
import { FIELDS, type Field } from '../client/fields.ts';
import { RdcpResponseError } from '../client/response-error.ts';
import { EXIT, type Terminal, UsageError } from './command.ts';

export function failureOf(error: unknown, sources?: Sources): { readonly text: string; readonly code: number } {
  if (!isRdcpError(error)) {
    return { text: messageOf(error), code: error instanceof UsageError ? EXIT.usage : EXIT.refused };
  }
  const code = isUnreachable(error) ? EXIT.unreachable : EXIT.refused;
  return { text: explain(error, sources, optionOf(error)), code: isOutcomeUnknown(error) ? EXIT.partial : code };
}

/** Options of the command, by the field of a request that they fill. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ...Object.values(FIELDS).flatMap((fields) =>
    Object.entries<Field>(fields).map(([name, { at, option = name }]): [string, string] => [at, option]),
  ),
  ['duration', 'for'],
  ...['reason', 'level', 'rate', 'lines', 'since', 'until', 'limit', 'client', 'cursor'].map(
    (name): [string, string] => [name, name],
  ),
]);

/** The option that fills the field which an error is about, such as `where` for `options.otelrdcp_filter.where`. */
function optionOf({ details }: RdcpError): string | undefined {
  const path = String(details?.field ?? '')
    .replace(/^options\./, '')
    .replaceAll('otelrdcp_', '');
  return [...OPTIONS].find(([at]) => path === at || path.startsWith(`${at}.`))?.[1];
}

/** An error in one line: the server's message and details, and what to do next. @param option is named in place of the field @default the field */
export function explain(error: RdcpError, sources: Sources = {}, option?: string): string {
  if (isOutcomeUnknown(error)) return `${error.code}: ${OUTCOME_UNKNOWN}`;
  const { allow, ...others } = error.details ?? {};
  const allowed = allowSchema.safeParse(allow).data;
  const isSaid = ([name, value]: [string, unknown]) =>
    (name === 'field' && option !== undefined) ||
    (/^(?:field|maximum)$/.test(name) && error.message.includes(String(value))) ||
    (allow !== undefined && /^(?:reason|approval)$/.test(name));
  const details: string[] = Object.entries(others)
    .filter(([name, value]) => name !== 'requestId' && value !== HEADERS.tenantId && String(value) !== '')
    .filter((detail) => !isSaid(detail))
    .map(([name, value]) => `${name}: ${plain(value)}`);
  if (allowed !== undefined) details.push(`it may do ${allowText(allowed)}`);
  const retryAfter = error.headers?.['Retry-After'];
  if (retryAfter !== undefined) details.push(`try again in ${retryAfter} s`);
  const { address, credential, profiles = [] } = sources;
  if (address !== undefined && isUnreachable(error)) details.push(`address of ${address}`);
  // Where there is a profile, another credential may have been meant than the one that lacks a scope.
  const lacksScope = error.code === 'RDCP_FORBIDDEN' && credential?.includes('profile ');
  if (credential !== undefined && (error.code === 'RDCP_AUTH_FAILED' || lacksScope)) {
    details.push(`credential of ${credential}`);
  }
  if (address !== undefined && error.code === 'RDCP_AUTH_REQUIRED') details.push(`address of ${address}`);
  if (profiles.length > 0 && (isUnreachable(error) || error.code === 'RDCP_AUTH_REQUIRED')) {
    details.push(`no profile was named: choose one of ${profiles.join(', ')} with --profile`);
  }
  const cause = networkCause(error);
  if (cause !== undefined) details.push(cause);
  const advice = adviceFor(error, cause);
  if (advice !== undefined) details.push(advice);
  // The API speaks of the header that the option sends.
  const start = [`Query parameter ${others.field} `, `${others.field} `].find((each) => error.message.startsWith(each));
  const isInOption = option !== undefined && start !== undefined;
  const said = isInOption ? `--${option} ${error.message.slice(start.length)}` : error.message;
  const message = said.replaceAll(HEADERS.tenantId, '--tenant');
  return `${error.code}: ${message}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
}

type Sources = Terminal['sources'];

/** Whether no RDCP server has answered. A gateway answers for a server that it cannot reach, without an RDCP error. */
function isUnreachable(error: RdcpError): boolean {
  if (!UNANSWERED.has(error.code)) return false;
  if (error instanceof RdcpResponseError) return error.serverCode === undefined;
  return error.code !== 'RDCP_NOT_FOUND' && error.code !== 'RDCP_SERVER_ERROR';
}

const UNANSWERED: ReadonlySet<string> = new Set([
  'RDCP_UNAVAILABLE',
  'RDCP_TIMEOUT',
  'RDCP_VERSION_UNSUPPORTED',
  'RDCP_NOT_FOUND',
  'RDCP_SERVER_ERROR',
]);

function adviceFor(error: RdcpError, cause: string | undefined): string | undefined {
  const certificate = CERTIFICATE.get(cause);
  if (certificate !== undefined) return certificate;
  if (error instanceof RdcpResponseError && error.serverCode === undefined) {
    return ANSWERED_BY_ANOTHER.get(error.status) ?? (error.status >= 500 ? UNREACHABLE : WRONG_ADDRESS);
  }
  if (error.code === 'RDCP_VERSION_UNSUPPORTED' && isUnreachable(error)) {
    return / speaks /.test(error.message) ? OTHER_VERSION : WRONG_ADDRESS;
  }
  if (isUnreachable(error)) {
    if (/ redirects/.test(error.message)) return WRONG_ADDRESS;
    if (/cannot be reached$|did not respond/.test(error.message)) return UNREACHABLE;
  }
  return ADVICE.get(error.details?.error) ?? ADVICE.get(error.details?.field) ?? ADVICE.get(error.code);
}

const OUTCOME_UNKNOWN =
  "it is not known whether the change was made, because the service's store did not answer: 'rdcp status' shows what is on; look there before you repeat the command";
const UNREACHABLE = 'is the service running? --url, RDCP_URL or a profile names another address';
const WRONG_ADDRESS = "is it the service's address? --url, RDCP_URL or a profile names another";
const OTHER_VERSION = 'use the rdcp command of the version that the service has';
const PROXY_REFUSES = "the answer is not the service's: something in front of it wants another credential";
const PROXY_ALONE = 'a proxy answered that cannot reach the service: is the service running?';

/** Advice for an answer without an RDCP error, by its status. */
const ANSWERED_BY_ANOTHER: ReadonlyMap<number, string> = new Map([
  [401, PROXY_REFUSES],
  [403, PROXY_REFUSES],
  [407, PROXY_REFUSES],
  [429, 'something in front of the service limits requests'],
  [502, PROXY_ALONE],
  [503, PROXY_ALONE],
  [504, PROXY_ALONE],
]);

const TRUST =
  "the server's certificate is not trusted: NODE_EXTRA_CA_CERTS=FILE, or --ca FILE with 'rdcp login', names its authority";

/** Advice for a refused certificate, by OpenSSL's code. */
const CERTIFICATE: ReadonlyMap<string | undefined, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', TRUST],
  ['SELF_SIGNED_CERT_IN_CHAIN', TRUST],
  ['UNABLE_TO_GET_ISSUER_CERT', TRUST],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', TRUST],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', TRUST],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the server's certificate is for another name: use that name in the address"],
  ['CERT_HAS_EXPIRED', "the server's certificate has expired: it must be renewed there"],
  ['CERT_NOT_YET_VALID', "the server's certificate is not valid yet: is the clock of this machine right?"],
]);

/** Advice by error code, RDCP's or OAuth's, or by the field that was wrong. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  [HEADERS.tenantId, 'a profile may set it too'],
  ['RDCP_AUTH_REQUIRED', "log in with 'rdcp login', or pass --key-file or RDCP_API_KEY"],
  ['RDCP_AUTH_FAILED', "the credential is wrong, revoked or expired; 'rdcp login' stores another one"],
  ['RDCP_VERSION_UNSUPPORTED', OTHER_VERSION],
  ['invalid_grant', 'the session has ended: start another with rdcp token create'],
  ['invalid_scope', 'request fewer scopes with --scopes'],
  ['unsupported_token_type', 'revoke it at the server that issued it'],
]);

function plain(value: unknown): string {
  const text = Array.isArray(value) ? value.join(', ') : value;
  return typeof text === 'string' ? text : JSON.stringify(text);
}

/** The error of `fetch` only says that it failed; its cause has the system's code (ECONNREFUSED, ENOTFOUND, CERT_…). */
function networkCause(error: RdcpError): string | undefined {
  if (error.code !== 'RDCP_UNAVAILABLE' || !(error.cause instanceof Error)) return undefined;
  const { cause } = error.cause;
  if (typeof cause !== 'object' || cause === null) return undefined;
  if ('code' in cause) return String(cause.code);
  // Fetch Standard, section 2.9: ports of other protocols, such as 6000.
  return cause instanceof Error && cause.message === 'bad port' ? 'fetch sends nothing to this port' : undefined;
}
