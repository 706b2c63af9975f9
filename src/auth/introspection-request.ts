import { trustedUri } from '../net/trusted-uri.ts';
import type { IntrospectionOptions } from '../options/options.ts';
import { IssuerFault, readBounded } from './issuer-failure.ts';

export type IntrospectionEndpoint = Pick<IntrospectionOptions, 'endpoint' | 'clientId' | 'clientSecret'>;

export type Answer = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 3000;
const MAX_BYTES = 64 * 1024;

/** RFC 6749, section 5.2. */
const ABOUT_CLIENT = ['invalid_client', 'unauthorized_client'];
/** RFC 6750, section 3.1. Some servers send it in the body. */
const ABOUT_TOKEN = 'invalid_token';

/**
 * Introspects one token (RFC 7662, section 2). Rejects without a valid response.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https
 */
export function introspectionRequest(
  { endpoint, clientId, clientSecret }: IntrospectionEndpoint,
  fetch: typeof globalThis.fetch,
): (token: string) => Promise<Answer> {
  const uri = trustedUri(endpoint, 'security.introspection.endpoint');
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/x-www-form-urlencoded',
    ...(clientSecret !== undefined && { Authorization: basic(clientId, clientSecret) }),
  };
  return async (token) => {
    const response = await fetch(uri, {
      method: 'POST',
      headers,
      body: new URLSearchParams({
        token,
        token_type_hint: 'access_token',
        ...(clientSecret === undefined && { client_id: clientId }),
      }),
      // Tokens are sent only to the configured address.
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { status } = response;
    const answer = parse(await readBounded(response, MAX_BYTES));
    if (status === 200 && isAnswer(answer)) return answer;
    if (status === 200) throw new IssuerFault('answers with an invalid introspection response');
    if (refusesToken(response, answer)) return { active: false };
    const ofClient = [400, 401, 403].includes(status) ? ': it refuses clientId or clientSecret' : '';
    throw new IssuerFault(`answers with status ${status}${ofClient}`);
  };
}

/**
 * RFC 7662 specifies 200 for inactive tokens and 401 for an unknown client. Some servers refuse tokens with 400, or with 401
 * and an error code.
 */
function refusesToken({ status, headers }: Response, body: unknown): boolean {
  const code: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  if (status === 400) return !ABOUT_CLIENT.includes(String(code));
  const challenge = headers.get('WWW-Authenticate') ?? '';
  return status === 401 && (code === ABOUT_TOKEN || challenge.includes(`error="${ABOUT_TOKEN}"`));
}

/** Returns `undefined` for invalid JSON. The parser's error could quote the token. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `active` is the only field that RFC 7662 requires. */
function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'active') === 'boolean';
}

/** Both parts are form-encoded first (RFC 6749, section 2.3.1), so that the id may contain a colon. */
function basic(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
}
