import type { IntrospectionOptions } from '../options/options.ts';
import { SettingFault } from '../wire/errors.ts';
import { parsedJson } from '../wire/json-text.ts';
import { type Answer, send } from '../wire/net/request.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';

export type IntrospectionEndpoint = Pick<IntrospectionOptions, 'endpoint' | 'clientId' | 'clientSecret'>;

export type Introspection = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 3000;
const MAX_BYTES = 64 * 1024;

/** RFC 6749, section 5.2. */
const ABOUT_CLIENT = ['invalid_client', 'unauthorized_client'];
/** RFC 6750, section 3.1. Some servers send it in the body. */
const ABOUT_TOKEN = 'invalid_token';

/** Asks the issuer about a token (RFC 7662, section 2). Rejects without a valid response. @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https */
export function introspectionRequest({
  endpoint,
  clientId,
  clientSecret,
}: IntrospectionEndpoint): (token: string) => Promise<Introspection> {
  const url = trustedUri(endpoint, 'security.introspection.endpoint');
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/x-www-form-urlencoded',
    ...(clientSecret !== undefined && { Authorization: basic(clientId, clientSecret) }),
  };
  return async (token) => {
    const form = new URLSearchParams({
      token,
      token_type_hint: 'access_token',
      ...(clientSecret === undefined && { client_id: clientId }),
    });
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await send({ url, headers, body: String(form), maxBytes: MAX_BYTES, signal });
    const { status } = answer;
    const body = parsedJson(answer.text ?? '');
    if (status === 200 && isIntrospection(body)) return body;
    if (status === 200) throw new SettingFault('answers with an invalid introspection response');
    if (refusesToken(answer, body)) return { active: false };
    const ofClient = [400, 401, 403].includes(status) ? ': it refuses clientId or clientSecret' : '';
    throw new SettingFault(`answers with status ${status}${ofClient}`);
  };
}

/** RFC 7662 has 200 for inactive tokens, 401 for an unknown client. Some servers refuse tokens with 400, or 401 and an error code. */
function refusesToken({ status, headers }: Answer, body: unknown): boolean {
  const { error: code } = Object(body);
  if (status === 400) return !ABOUT_CLIENT.includes(String(code));
  const challenge = headers['www-authenticate'] ?? '';
  return status === 401 && (code === ABOUT_TOKEN || challenge.includes(`error="${ABOUT_TOKEN}"`));
}

/** `active` is the only field that RFC 7662 requires. */
function isIntrospection(value: unknown): value is Introspection {
  return typeof Object(value).active === 'boolean';
}

/** Both parts are form-encoded first (RFC 6749, section 2.3.1), so that the id may contain a colon. */
function basic(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
}
