import { trustedUri } from '../net/trusted-uri.ts';
import type { IntrospectionOptions } from '../options/options.ts';
import { IssuerFault, readBounded } from './issuer-failure.ts';

export type IntrospectionEndpoint = Pick<IntrospectionOptions, 'endpoint' | 'clientId' | 'clientSecret'>;

export type Answer = Readonly<Record<string, unknown>>;

/** The issuer responded with a status other than 200. */
export class StatusFault extends IssuerFault {
  /** Cause of the refusal: the token, this server as a client, or unclear which. */
  readonly refuses: 'token' | 'either' | 'us';

  constructor(status: number, refuses: StatusFault['refuses']) {
    const ofClient = refuses !== 'token' && [400, 401, 403].includes(status);
    super(`answers with status ${status}${ofClient ? ': it refuses clientId or clientSecret' : ''}`);
    this.refuses = refuses;
  }
}

const TIMEOUT_MS = 3000;
const MAX_BYTES = 64 * 1024;

/** RFC 6749, section 5.2. */
const ABOUT_CLIENT = ['invalid_client', 'unauthorized_client'];
/** RFC 6750, section 3.1. Some servers send it in the body. */
const ABOUT_TOKEN = 'invalid_token';

/**
 * Introspects one token (RFC 7662, section 2).
 * @returns the response, or the fault if the token may have caused it. Rejects with any other failure
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https
 */
export function introspectionRequest(
  { endpoint, clientId, clientSecret }: IntrospectionEndpoint,
  fetch: typeof globalThis.fetch,
): (token: string) => Promise<Answer | StatusFault> {
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
    if (status === 400 || status === 401) {
      const fault = new StatusFault(status, await refusedBy(response));
      if (fault.refuses === 'us') throw fault;
      return fault;
    }
    if (status !== 200) {
      await response.body?.cancel();
      throw new StatusFault(status, 'us');
    }
    const answer = parse(await readBounded(response, MAX_BYTES));
    if (isAnswer(answer)) return answer;
    throw new IssuerFault('answers with an invalid introspection response');
  };
}

/**
 * RFC 7662 specifies 200 for inactive tokens and 401 for an unknown client. Some servers refuse tokens with 400 or 401, not
 * always with an error code.
 */
async function refusedBy(response: Response): Promise<StatusFault['refuses']> {
  const body = parse(await readBounded(response, MAX_BYTES).catch(() => ''));
  const code: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  if (ABOUT_CLIENT.includes(String(code))) return 'us';
  const challenge = response.headers.get('WWW-Authenticate') ?? '';
  const names = code === ABOUT_TOKEN || challenge.includes(`error="${ABOUT_TOKEN}"`);
  return response.status === 400 || names ? 'token' : 'either';
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
