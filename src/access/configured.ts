import type { ResolvedConfig } from '../options/config.ts';
import type { CertificateIdentity, JwtIssuerOptions } from '../options/options.ts';
import { type Conditions, UNWATCHED } from '../otel/report/conditions.ts';
import type { RecordStore } from '../store/records.ts';
import { configurationError, invalidSetting, isRdcpError, type RdcpError } from '../wire/errors.ts';
import { type Clock, unrefTimeout } from '../wire/time/clock.ts';
import {
  createApiKeyVerifier,
  fixedKeys,
  type KeySource,
  openKeysFile,
  tenantMember,
  withoutTenancy,
} from './api-keys.ts';
import { createApplicationAuthenticator } from './application.ts';
import { type Authenticator, createAuthenticator, createBearerVerifier } from './authenticator.ts';
import { ensureDevKey } from './dev-key.ts';
import { createIntrospectionVerifier } from './introspection.ts';
import { createJwtVerifier } from './jwt.ts';
import { createCertificateVerifier } from './mtls.ts';
import { openOwnTokens } from './tokens/own-tokens.ts';
import { createTokenService } from './tokens/service.ts';

type Settings = ResolvedConfig['security'];

export interface CredentialSettings extends Omit<Partial<Settings>, 'jwt'> {
  readonly jwt?: JwtIssuerOptions | readonly JwtIssuerOptions[] | undefined;
}

interface AuthenticationOptions {
  readonly clock: Clock;
  /** Directory of the development key, used without configured credentials. @default the working directory */
  readonly cwd?: string;
  /** Hold while a keys file is unreadable or a token issuer does not respond. @default not watched */
  readonly conditions?: Pick<Conditions, 'watch'>;
  readonly report: (error: RdcpError) => void;
  /** Keeps the records of issued tokens. Required by `security.tokens`. */
  readonly tokenStore?: RecordStore | undefined;
  /** Whether tenancy is configured. If not, credentials of a tenant are rejected. @default true */
  readonly tenancy?: boolean | undefined;
}

const CREDENTIALS = ['apiKeys', 'jwt', 'introspection', 'mtls', 'authenticate'];

export function hasCredentials(settings: object): boolean {
  return CREDENTIALS.some((kind) => Reflect.get(settings, kind) !== undefined);
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`; what was opened until then is closed */
export function openAuthentication(settings: CredentialSettings, options: AuthenticationOptions) {
  const opened: { close(): void }[] = [];
  const close = () => {
    for (const part of opened) part.close();
  };
  try {
    const { authenticator, ...rest } = assemble(settings, options, (part) => {
      opened.push(part);
      return part;
    });
    return { ...rest, authenticator: { ...authenticator, close } };
  } catch (error) {
    close();
    throw error;
  }
}

function assemble(
  settings: CredentialSettings,
  { clock, cwd, conditions = { watch: () => UNWATCHED }, report, tokenStore, tenancy = true }: AuthenticationOptions,
  closing: <T extends { close(): void }>(part: T) => T,
) {
  const { level, apiKeys, jwt, introspection, mtls, authenticate } = settings;
  const certificateRequired = level === 'enterprise';
  if (!tenancy) assertNoTenants(mtls?.identities ?? []);
  const certificate =
    mtls === undefined && !certificateRequired ? undefined : createCertificateVerifier(mtls?.identities ?? [], clock);

  const records = hasCredentials(settings) ? apiKeys : [ensureDevKey(cwd) ?? []].flat();
  const apiKey = records && createApiKeyVerifier({ keys: closing(keySource(records, conditions, tenancy)), clock });

  const own =
    settings.tokens &&
    closing(openOwnTokens(settings.tokens, { store: tokenStore, apiKey, certificateRequired, clock, conditions }));
  const issuers = jwt === undefined ? [] : [jwt].flat();
  const signed =
    issuers.length > 0 || own
      ? closing(createJwtVerifier({ issuers, own: own?.trusted, clock, conditions, delay: unrefTimeout }))
      : undefined;
  const opaque =
    introspection &&
    createIntrospectionVerifier({ ...introspection, clock, condition: conditions.watch('introspection') });
  const bearer = signed || opaque ? createBearerVerifier({ jwt: signed, opaque }) : undefined;

  const application =
    authenticate &&
    createApplicationAuthenticator(authenticate, {
      clock,
      delay: unrefTimeout,
      condition: conditions.watch('authenticate'),
      report,
    });
  const current: Authenticator['current'] = async (principal) => {
    const { method, keyId, sessionId } = principal;
    if (method === 'api-key') return apiKey?.principal(keyId ?? '');
    if (sessionId !== undefined && (await own?.revocations.isRevoked(sessionId))) return undefined;
    return own === undefined ? principal : own.allowedNow(principal);
  };
  return {
    authenticator: createAuthenticator({ apiKey, bearer, certificate, certificateRequired, application, current }),
    ownKeys: own?.keys,
    tokens: own && bearer && createTokenService(own, { apiKey, bearer, certificate, certificateRequired }),
  };
}

function assertNoTenants(identities: readonly CertificateIdentity[]): void {
  for (const [index, identity] of identities.entries()) {
    const member = tenantMember(identity);
    if (member === undefined) continue;
    const { userId, clientId = userId } = identity;
    throw withoutTenancy(`security.mtls.identities.${index}.${member}`, `the certificate of client ${clientId}`);
  }
}

function keySource(
  apiKeys: NonNullable<Settings['apiKeys']>,
  conditions: Pick<Conditions, 'watch'>,
  tenancy: boolean,
): KeySource {
  if (!('file' in apiKeys)) return fixedKeys(apiKeys, { tenancy });
  try {
    return openKeysFile(apiKeys.file, { condition: conditions.watch('keys_file'), tenancy });
  } catch (cause) {
    if (!isRdcpError(cause)) throw cause;
    const field = 'security.apiKeys.file';
    throw invalidSetting(field, `configuration: ${field}: ${cause.message}`, cause);
  }
}

const NEEDS_CA = 'needs server.tls.clientCaFile';
const TOKENS = 'bearer tokens: one of security.jwt, introspection, tokens and authenticate';

/** Refuses a configuration that does not meet its security level (RDCP 1.0, Compliance levels). */
export function assertLevel({ server, security }: Pick<ResolvedConfig, 'server' | 'security'>): void {
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
