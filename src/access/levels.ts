import type { ResolvedConfig } from '../options/config.ts';
import { configurationError } from '../wire/errors.ts';

type Settings = Pick<ResolvedConfig, 'server' | 'security'>;

/**
 * Rejects a configuration that does not meet its security level (RDCP 1.0, Compliance levels).
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`
 */
export function assertLevel({ server, security }: Settings): void {
  const { level, mtls, jwt, introspection, tokens, authenticate } = security;
  const asksForCertificates = server === false || server.tls?.clientCaFile !== undefined;
  if (mtls !== undefined && !asksForCertificates) {
    throw configurationError(
      'security.mtls',
      'needs server.tls.clientCaFile: without it the server does not request client certificates',
    );
  }
  if (level === 'basic') return;
  if (level === 'enterprise' && !asksForCertificates) {
    throw configurationError(
      'security.level',
      'enterprise needs server.tls.clientCaFile: every client must present a certificate',
    );
  }
  const takesTokens = [jwt, introspection, tokens, authenticate].some((kind) => kind !== undefined);
  if (level === 'standard' && !takesTokens) {
    throw configurationError(
      'security.level',
      'standard needs bearer tokens: one of security.jwt, introspection, tokens and authenticate',
    );
  }
  if (level === 'enterprise' && mtls === undefined && !takesTokens) {
    throw configurationError(
      'security.level',
      'enterprise needs security.mtls, or bearer tokens: one of security.jwt, introspection, tokens and authenticate',
    );
  }
}
