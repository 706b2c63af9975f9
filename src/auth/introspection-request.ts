import { readBounded } from './bounded-body.ts';
import { IssuerFault } from './issuer-failure.ts';
import { trustedUri } from './jwt-issuer.ts';

export interface IntrospectionEndpoint {
  /** The issuer's introspection endpoint. Plain HTTP is accepted on loopback alone. */
  readonly endpoint: string;
  /** This server's name at the issuer. */
  readonly clientId: string;
  /** Sent by HTTP Basic (RFC 6749, section 2.3.1). Without it the client id alone is sent, in the body. */
  readonly clientSecret?: string | undefined;
}

export type Answer = Readonly<Record<string, unknown>>;

/** The issuer answers with another status than 200. */
export class StatusFault extends IssuerFault {
  /** What is refused: the token, this server as a client, or either, which the answer does not say. */
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
/** RFC 6750, section 3.1; some servers have it in the body. */
const ABOUT_TOKEN = 'invalid_token';

/**
 * Asks about one token (RFC 7662, section 2).
 * @returns the answer, or why there is none where that may be the token's fault; rejects with any other failure
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
      // Tokens go to the address that the operator named, and to nowhere that it points to.
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
    throw new IssuerFault('answers something that is no introspection response');
  };
}

/**
 * RFC 7662 has 200 for a token that is not active, and 401 for a client that is not who it says. Servers that refuse
 * tokens by 400 or 401 exist all the same, and not every one gives a code with it.
 */
async function refusedBy(response: Response): Promise<StatusFault['refuses']> {
  const body = parse(await readBounded(response, MAX_BYTES).catch(() => ''));
  const code: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  if (ABOUT_CLIENT.includes(String(code))) return 'us';
  const challenge = response.headers.get('WWW-Authenticate') ?? '';
  const names = code === ABOUT_TOKEN || challenge.includes(`error="${ABOUT_TOKEN}"`);
  return response.status === 400 || names ? 'token' : 'either';
}

/** The parser's own error would quote the answer, which may hold the token. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `active` is the one field that RFC 7662 requires. Without it, what answered is no introspection endpoint. */
function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'active') === 'boolean';
}

/** Both halves are form-encoded first (RFC 6749, section 2.3.1), so that a colon in the id cannot move the border. */
function basic(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
}
