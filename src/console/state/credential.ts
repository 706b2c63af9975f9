import { createTransport } from '../../client/transport.ts';
import type { RdcpClient, RdcpClientOptions } from '../../client.ts';
import type { ConsoleSessionResponse } from '../../protocol/messages.ts';

/** What somebody signs in with. */
export type Credential =
  | { readonly kind: 'api-key' | 'bearer'; readonly value: string }
  /** Shown once by `rdcp console`. */
  | { readonly kind: 'code'; readonly code: string }
  /** The connection itself: a client certificate, or a login of the application's. */
  | { readonly kind: 'connection' };

export interface SignedIn {
  /** Of the client. The credential is kept in here, and nowhere else. */
  readonly options: Pick<RdcpClientOptions, 'apiKey' | 'token'>;
  /** Ends its session at the server, if there is one. Never rejects. */
  end(): Promise<void>;
}

export interface SignInParts {
  readonly options: Pick<RdcpClientOptions, 'baseUrl' | 'clientId' | 'fetch'>;
  readonly createClient: (options: SignedIn['options']) => RdcpClient;
}

const CODE_PATH = '/rdcp/v1/console/session';
const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/;

/** An API key or a token, by its form: a JWT, or what has `Bearer` before it, is a token. */
export function credentialOf(text: string, methods: readonly string[]): Credential {
  const value = text.replace(/^bearer\s+/i, '');
  const isToken = !methods.includes('api-key') || value !== text || (methods.includes('bearer') && JWT.test(value));
  return { kind: isToken ? 'bearer' : 'api-key', value };
}

/**
 * Makes of a credential what the client sends from then on. Where the server issues tokens, an API key is exchanged for a
 * session and forgotten.
 */
export async function signInWith(
  credential: Credential,
  issuesTokens: boolean,
  { options, createClient }: SignInParts,
): Promise<SignedIn> {
  if (credential.kind === 'connection') return { options: {}, end: async () => undefined };
  if (credential.kind === 'code') {
    const { send } = createTransport(options);
    const { credential: exchanged } = await send<ConsoleSessionResponse>({
      path: CODE_PATH,
      body: { code: credential.code },
    });
    return signInWith(exchanged, issuesTokens, { options, createClient });
  }
  if (credential.kind === 'bearer') return { options: { token: credential.value }, end: async () => undefined };
  if (!issuesTokens) return { options: { apiKey: credential.value }, end: async () => undefined };
  const { tokens } = createClient({ apiKey: credential.value });
  const session = await tokens.exchange();
  const { refresh_token } = session;
  const withoutKey = createClient({}).tokens;
  const token = refresh_token === undefined ? session.access_token : withoutKey.keptFresh(session);
  return {
    options: { token },
    end: async () => {
      const held = typeof token === 'string' ? token : await token().catch(() => undefined);
      if (held !== undefined) await withoutKey.revoke(held).catch(() => undefined);
    },
  };
}
