import type { TestContext } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { startTokenServer, tokenSettings } from '../server/tokens.ts';
import { writeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import type { TestServer, TestServerOptions } from '../support/server.ts';

export type Scheme = 'http' | 'https';

export interface AuthorizationServer extends TestServer {
  readonly issuer: string;
  /** Of its certificate, PEM; with HTTPS. */
  readonly authority?: string | undefined;
}

interface Options extends TestServerOptions {
  readonly scheme?: Scheme;
  /** What of `security` is not the usual. */
  readonly security?: RdcpConfig['security'];
  /** What of `security.tokens` is not the usual. */
  readonly tokens?: Partial<NonNullable<NonNullable<RdcpConfig['security']>['tokens']>>;
}

/** A server whose issuer is the address that it is reached by, which clients that discover it check. */
export async function startAuthorizationServer(
  t: TestContext,
  { scheme = 'http', security, tokens, ...options }: Options = {},
): Promise<AuthorizationServer> {
  const port = await freePort();
  const issuer = `${scheme}://localhost:${port}`;
  const certificate = scheme === 'https' ? writeCertificate() : undefined;
  const tls = certificate && { certFile: certificate.certFile, keyFile: certificate.keyFile };
  const server = await startTokenServer(
    t,
    { tokens: { ...tokenSettings, issuer, ...tokens }, ...security },
    { ...options, config: { ...options.config, server: { ...options.config?.server, port, ...(tls && { tls }) } } },
  );
  return { ...server, issuer, authority: certificate?.cert };
}
