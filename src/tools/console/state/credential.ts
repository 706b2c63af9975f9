import { createRdcpClient, type RdcpClientOptions } from '../../../client.ts';
import type { ConsoleSessionResponse } from '../../../wire/messages.ts';
import { createTransport } from '../../client/transport.ts';

/** A credential that a person signs in with. */
export type Credential =
  | { readonly kind: 'api-key' | 'bearer'; readonly value: string }
  /** Shown once by `rdcp console`. */
  | { readonly kind: 'code'; readonly code: string }
  /** The connection itself: a client certificate, or a login of the application's. */
  | { readonly kind: 'connection' };

export interface SignedIn {
  /** Options of the client. Only they hold the credential. */
  readonly options: Pick<RdcpClientOptions, 'apiKey' | 'token'>;
  /** Ends its session at the server, if there is one. Never rejects. */
  end(): Promise<void>;
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
 * Exchanges a credential for the options that the client sends from then on. Where the server issues tokens, an API key is
 * exchanged for a session and forgotten.
 */
export async function signInWith(
  credential: Credential,
  issuesTokens: boolean,
  options: RdcpClientOptions,
): Promise<SignedIn> {
  if (credential.kind === 'connection') return { options: {}, end: async () => undefined };
  if (credential.kind === 'code') {
    const { send } = createTransport(options);
    const { credential: exchanged } = await send<ConsoleSessionResponse>({
      path: CODE_PATH,
      body: { code: credential.code },
    });
    return signInWith(exchanged, issuesTokens, options);
  }
  if (credential.kind === 'bearer') return { options: { token: credential.value }, end: async () => undefined };
  if (!issuesTokens) return { options: { apiKey: credential.value }, end: async () => undefined };
  const session = await createRdcpClient({ ...options, apiKey: credential.value }).tokens.exchange();
  const withoutKey = createRdcpClient(options).tokens;
  const token = session.refresh_token === undefined ? session.access_token : withoutKey.keptFresh(session);
  return {
    options: { token },
    end: async () => {
      const held = typeof token === 'string' ? token : await token().catch(() => undefined);
      if (held !== undefined) await withoutKey.revoke(held).catch(() => undefined);
    },
  };
}
