import type { ResolvedConfig } from '../options/config.ts';
import { configurationError } from '../wire/errors.ts';

type Settings = Pick<ResolvedConfig, 'server' | 'security'>;

const NEEDS_CA = 'needs server.tls.clientCaFile';
const TOKENS = 'bearer tokens: one of security.jwt, introspection, tokens and authenticate';

/** Refuses a configuration that does not meet its security level (RDCP 1.0, Compliance levels). */
export function assertLevel({ server, security }: Settings): void {
  const { level, mtls, jwt, introspection, tokens, authenticate } = security;
  const asksForCertificates = server === false || server.tls?.clientCaFile !== undefined;
  const takesTokens = [jwt, introspection, tokens, authenticate].some((kind) => kind !== undefined);
  const problems = [
    [
      mtls !== undefined && !asksForCertificates,
      'security.mtls',
      `${NEEDS_CA}: without it the server does not request client certificates`,
    ],
    [
      level === 'enterprise' && !asksForCertificates,
      'security.level',
      `enterprise ${NEEDS_CA}: every client must present a certificate`,
    ],
    [level === 'standard' && !takesTokens, 'security.level', `standard needs ${TOKENS}`],
    [
      level === 'enterprise' && mtls === undefined && !takesTokens,
      'security.level',
      `enterprise needs security.mtls, or ${TOKENS}`,
    ],
  ] as const;
  for (const [holds, field, problem] of problems) if (holds) throw configurationError(field, problem);
}
