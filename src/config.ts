import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { isAddressOrNetwork, UNIX_SOCKET } from './addresses.ts';
import type { DebugRecord } from './emit/record.ts';
import { RdcpError } from './errors.ts';
import { EVERYBODY, ISOLATION_LEVELS, SCOPES, SECURITY_LEVELS } from './protocol/constants.ts';
import { duration } from './protocol/control-request.ts';
import { firstIssue } from './protocol/issues.ts';
import { IDENTIFIER, isCategoryName } from './protocol/names.ts';
import { formatDuration } from './protocol/time.ts';
import type { ValidationResult } from './protocol/validation-result.ts';
import type { MessageLogger } from './reporter.ts';
import type { StateStore } from './store/state-store.ts';

/** Ten years, in seconds: an end far beyond could not be written as a Timestamp. */
const LONGEST_DURATION = 3650 * 86_400;

const positive = z.number().int().positive();
const identifier = z.string().regex(IDENTIFIER, 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
const instant = z.iso.datetime({ message: 'must be a UTC time such as 2026-01-31T00:00:00.000Z' });

/** A key as it is kept: never the key itself. Records of a keys file have the same form. */
export const apiKeyRecordSchema = z.strictObject({
  /** Names the key in `rdcp keys list`, `rdcp keys revoke` and the audit trail. */
  id: identifier,
  /** `sha256:` and the lower-case hex SHA-256 of the key's bytes. */
  hash: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 lower-case hex digits'),
  clientId: identifier,
  /** @default the clientId */
  userId: identifier.optional(),
  /** The tenant that the key belongs to; absent: none. */
  tenantId: identifier.optional(),
  scopes: z.array(z.enum(SCOPES)).min(1, 'must hold at least one scope'),
  /** The key is not valid before this instant. */
  notBefore: instant.optional(),
  /** The key is not valid from this instant on. */
  expiresAt: instant.optional(),
});

export type ApiKeyRecord = z.infer<typeof apiKeyRecordSchema>;

const tls = z
  .strictObject({
    /** PEM file of the server's certificate and its chain. */
    certFile: z.string().min(1),
    /** PEM file of its private key. */
    keyFile: z.string().min(1),
    /**
     * PEM file of the authorities whose client certificates are accepted; every connection then needs one.
     * @default none: no client certificates
     */
    clientCaFile: z.string().min(1).optional(),
    /** PEM file of revocation lists, one of each authority in `clientCaFile`. @default none: nothing is revoked */
    crlFile: z.string().min(1).optional(),
  })
  .refine((value) => value.crlFile === undefined || value.clientCaFile !== undefined, {
    path: ['crlFile'],
    message: 'needs clientCaFile: it says which client certificates are revoked',
  });

const notAProxy = ({ input }: { readonly input?: unknown }) =>
  `must be an IP address, a network such as 10.0.0.0/8, or '${UNIX_SOCKET}'; it is ${JSON.stringify(input)}`;

const server = z.strictObject({
  /** Address to listen on. Anything but a loopback address needs `tls` or `behindTlsProxy`. @default '127.0.0.1' */
  host: z.string().min(1).default('127.0.0.1'),
  /** TCP port; 0 lets the system choose. @default 9465 */
  port: z.number().int().min(0).max(65_535).default(9465),
  /** Serve HTTPS (TLS 1.3), whose files are read again when they change. @default none: plain HTTP, on loopback only */
  tls: tls.optional(),
  /** Host names, without port, accepted in the Host header beside loopback names and `host`. @default [] */
  allowedHosts: z.array(z.string().min(1)).default([]),
  /** TLS ends before this process: plain HTTP is accepted on any address. @default false */
  behindTlsProxy: z.boolean().default(false),
  /**
   * Proxies trusted to report the client's address in `X-Forwarded-For` or `Forwarded`, for rate limits and the audit trail: IP
   * addresses, networks (CIDR), and `unix` for Unix sockets. @default []: the headers are ignored
   */
  trustedProxies: z
    .array(z.string().refine((entry) => entry === UNIX_SOCKET || isAddressOrNetwork(entry), { error: notAProxy }))
    .default([]),
});

const category = z.strictObject({
  /** One line for the operator. @default what the code registered */
  description: z.string().max(1000).optional(),
  /** State where nobody switched it. @default what the code registered, else false */
  enabled: z.boolean().optional(),
});

const jwtIssuer = z.strictObject({
  /** The `iss` claim, compared character by character. */
  issuer: z.string().min(1, 'must not be empty'),
  /** One of these must be in the `aud` claim. */
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
  /** The only signature algorithms that are accepted; HS256 goes with `secret` alone. */
  algorithms: z.array(z.enum(['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA'])).min(1, 'must hold at least one algorithm'),
  /** Shared secret, at least 32 bytes. Exactly one of `secret`, `publicKey` and `jwksUri` is given. */
  secret: z.string().optional(),
  /** Public key or certificate, PEM; RSA keys have at least 2048 bits. */
  publicKey: z.string().optional(),
  /** Where the issuer publishes its keys (RFC 7517); HTTPS, except on loopback. */
  jwksUri: z.string().optional(),
  /** The claim with the scopes. @default 'scope', else 'scopes' */
  scopeClaim: z.string().min(1).optional(),
  /** The claim with the tenant's id. @default 'tenant_id' */
  tenantClaim: z.string().min(1).optional(),
});

const introspection = z.strictObject({
  /** The issuer's introspection endpoint (RFC 7662); HTTPS, except on loopback. */
  endpoint: z.string().min(1),
  /** This server's name at the issuer. */
  clientId: z.string().min(1),
  /** Sent by HTTP Basic. @default none: the client id alone is sent */
  clientSecret: z.string().min(1).optional(),
  /** What `iss` of an answer must be. @default any: whom the endpoint vouches for */
  issuer: z.string().min(1).optional(),
  /** One of these must be in `aud` of an answer. @default any */
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  /** The field with the scopes. @default 'scope', else 'scopes' */
  scopeClaim: z.string().min(1).optional(),
  /** The field with the tenant's id. @default 'tenant_id' */
  tenantClaim: z.string().min(1).optional(),
});

const certificateIdentity = z
  .strictObject({
    /** SHA-256 of the certificate: 64 hex digits, with or without colons. */
    fingerprint256: z
      .string()
      .regex(
        /^(?:[0-9a-fA-F]{64}|(?:[0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2})$/,
        'must be 64 hex digits, or 32 pairs with colons',
      )
      .optional(),
    /** One of its subject alternative names: `DNS:ops.example`, `URI:spiffe://example/ops`, `email:…`, `IP:…`. */
    san: z.string().min(1).optional(),
    /** Its whole subject, such as `CN=ops,O=Example` (RFC 4514). */
    subject: z.string().regex(/=/, 'must be a whole subject such as CN=ops,O=Example').optional(),
    userId: identifier,
    /** @default the userId */
    clientId: identifier.optional(),
    /** The tenant that the identity belongs to. @default none */
    tenantId: identifier.optional(),
    scopes: z.array(z.enum(SCOPES)).min(1, 'must hold at least one scope'),
  })
  .refine(
    ({ fingerprint256, san, subject }) => [fingerprint256, san, subject].filter((it) => it !== undefined).length === 1,
    {
      message: 'must hold one of fingerprint256, san and subject',
    },
  );

const tokens = z
  .strictObject({
    /**
     * The `iss` claim of the tokens that this server issues, and accepts. For OAuth clients that discover it, the address
     * that they reach it by, with the path that it is mounted below: `https://host:9465`.
     */
    issuer: z.string().min(1, 'must not be empty'),
    /** Their `aud` claim. */
    audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
    /** File of private keys (RSA, P-256, Ed25519; PEM or a JWK Set); the first signs. Read again when it changes. */
    signingKeyFile: z.string().min(1).optional(),
    /** Shared secret for HS256, at least 32 bytes. Exactly one of `signingKeyFile` and `secret` is given. */
    secret: z.string().optional(),
    /** Life of an access token, in seconds. @default 900 */
    accessTokenSeconds: positive.max(24 * 3600).default(900),
    /** Life of a session, however often it is refreshed, in seconds. @default 28800 */
    refreshTokenSeconds: positive.max(366 * 24 * 3600).default(28_800),
  })
  .refine(({ signingKeyFile, secret }) => (signingKeyFile === undefined) !== (secret === undefined), {
    message: 'must hold one of signingKeyFile and secret',
  });

const security = z.strictObject({
  /** The level that the well-known document declares. @default 'basic' */
  level: z.enum(SECURITY_LEVELS).default('basic'),
  /** API keys: a JSON file `{ "keys": [record, …] }` that is re-read when it changes, or the records. @default none */
  apiKeys: z.union([z.strictObject({ file: z.string().min(1) }), z.array(apiKeyRecordSchema)]).optional(),
  /** Who may issue bearer tokens (JWT). @default none */
  jwt: z.union([jwtIssuer, z.array(jwtIssuer).min(1, 'must hold at least one issuer')]).optional(),
  /** Who is asked about bearer tokens that are no JWT of a known issuer. @default none: they are refused */
  introspection: introspection.optional(),
  /** Who the client certificates of connections are; a certificate without an identity counts only together with a token. @default none */
  mtls: z.strictObject({ identities: z.array(certificateIdentity) }).optional(),
  /** Tokens that this server issues itself, for API keys and for other tokens. @default none */
  tokens: tokens.optional(),
  /**
   * The application's own authenticator, asked before any other: from a request to a validation result, or to nothing
   * where the request has no credential of its kind. One that throws makes it 503. @default none
   */
  authenticate: z.custom<Authenticate>((value) => typeof value === 'function', 'must be a function').optional(),
});

type Authenticate = (
  request: IncomingMessage,
) => ValidationResult | null | undefined | Promise<ValidationResult | null | undefined>;

/** RFC 9110, section 5.6.2: what the name of a baggage entry is made of. */
const token = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,255}$/, 'must be the name of a baggage entry');

const tenant = z.strictObject({
  /** For people. @default none */
  name: z.string().min(1).max(200).optional(),
});

const tenancy = z
  .strictObject({
    /** How far tenants are kept apart. The table in ARCHITECTURE.md says what each level means. */
    isolation: z.enum(ISOLATION_LEVELS),
    /** Whose settings are shared, at isolation `namespace`: required there and not allowed at any other. */
    namespace: identifier.optional(),
    /** Tenants that are listed before anything was set for them. Others are served alike. @default {} */
    tenants: z
      .record(
        identifier.refine((id) => id !== EVERYBODY, `must not be ${EVERYBODY}, which stands for all tenants`),
        tenant,
      )
      .default({}),
    /**
     * The OpenTelemetry baggage entry that names the tenant where no `runWithTenant` does. Baggage comes with a request:
     * whoever may send it chooses the tenant whose settings decide, and under whose name calls are counted. @default none
     */
    baggageKey: token.optional(),
  })
  .superRefine(({ isolation, namespace }, context) => {
    if ((isolation === 'namespace') === (namespace !== undefined)) return;
    const message = namespace === undefined ? 'is required' : 'is not allowed';
    context.addIssue({ code: 'custom', path: ['namespace'], message: `${message} at isolation ${isolation}` });
  });

const controls = z
  .strictObject({
    /** How long a temporary control without a duration lasts. @default '15m' */
    defaultDuration: duration.default(15 * 60),
    /** Longest temporary control that is accepted, at most '3650d'. @default '24h' */
    maxDuration: duration.default(24 * 3600),
    /** Most live temporary controls in one scope. @default 100 */
    maxTemporaryPerTenant: positive.default(100),
  })
  .refine((value) => value.maxDuration <= LONGEST_DURATION, {
    path: ['maxDuration'],
    message: `must be at most ${formatDuration(LONGEST_DURATION)}`,
  })
  .refine((value) => value.defaultDuration <= value.maxDuration, {
    path: ['defaultDuration'],
    message: 'must not be longer than maxDuration',
  });

const fleet = z.strictObject({
  /**
   * Seconds that the answer to a change waits for all processes to apply it, 0 to 25. Those that did not by then are named
   * in it, and its status is `partial`; they apply it all the same when they can. @default 1
   */
  acknowledgeTimeoutSeconds: z.number().min(0).max(25).default(1),
  /** Name of the service in the list of processes. @default OTEL_SERVICE_NAME, else `service.name` of OTEL_RESOURCE_ATTRIBUTES */
  service: z.string().min(1).max(200).optional(),
  /** Version of the service. @default `service.version` of OTEL_RESOURCE_ATTRIBUTES, else none */
  version: z.string().min(1).max(200).optional(),
});

const limits = z.strictObject({
  /** Control requests of one identity in any 60 seconds. @default 60 */
  controlPerMinute: positive.default(60),
  /** Reads of one identity in any 60 seconds. @default 600 */
  readPerMinute: positive.default(600),
  /** Health requests without a credential from one address in any 60 seconds; no other request counts. @default 600 */
  healthPerMinute: positive.default(600),
  /** Other requests without a valid credential from one address in any 60 seconds. @default 60 */
  anonymousPerMinute: positive.default(60),
  /** Seconds until a request is answered with 504. @default 30 */
  requestTimeoutSeconds: positive.default(30),
  /** Most categories, up to 4096. @default 4096 */
  maxCategories: positive.max(4096).default(4096),
  /**
   * Bytes that the store `memory:` keeps of audit entries and of answers for repeated requests, at least 1 MiB; the oldest
   * are dropped beyond that. @default 67108864 (64 MiB)
   */
  memoryStoreBytes: positive.min(1024 * 1024).default(64 * 1024 * 1024),
});

/** The methods that make an object a store; checked by name, because a class instance is no plain object. */
const STORE_METHODS = [
  'load',
  'commit',
  'findReplay',
  'subscribe',
  'queryAudit',
  'newestAudit',
  'pruneAudit',
  'check',
  'close',
];

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const STORES = "must be 'memory:', 'sqlite:FILE', 'redis://…', 'rediss://…' or a StateStore";

const store = z.union(
  [
    z.string().regex(/^(?:memory:$|sqlite:.|rediss?:)/, STORES),
    z.custom<StateStore>(
      (value) => isObject(value) && STORE_METHODS.every((name) => typeof Reflect.get(value, name) === 'function'),
    ),
  ],
  { error: STORES },
);

const LOGGER_METHODS = ['info', 'warn', 'error'];

const logger = z.custom<MessageLogger>(
  (value) => isObject(value) && LOGGER_METHODS.every((name) => typeof Reflect.get(value, name) === 'function'),
  'must be an object with the functions info, warn and error, such as console or a pino logger',
);

const EMIT_TO = "must be 'otel', 'stderr', 'both', 'json' or a function";

const emitTo = z.union(
  [
    z.enum(['otel', 'stderr', 'both', 'json']),
    z.custom<(record: DebugRecord) => unknown>((value) => typeof value === 'function'),
  ],
  { error: EMIT_TO },
);

const configSchema = z.strictObject({
  /** `false` listens nowhere: mount `callback()` in a server of your own. @default loopback, port 9465 */
  server: z.union([z.literal(false), server]).default(() => server.parse({})),
  /** Categories that exist without having been registered by code, and what the owner says of those that are. @default {} */
  categories: z
    .record(
      z
        .string()
        .refine(isCategoryName, 'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$'),
      category,
    )
    .default({}),
  security: security.default(() => security.parse({})),
  /** Multi-tenancy. @default false */
  tenancy: z.union([z.literal(false), tenancy]).default(false),
  controls: controls.default(() => controls.parse({})),
  limits: limits.default(() => limits.parse({})),
  audit: z
    .strictObject({
      /** Days that an audit entry is kept, at most 36500. @default 90 */
      retentionDays: positive.max(36_500).default(90),
    })
    .default({ retentionDays: 90 }),
  /** For processes that share a store. */
  fleet: fleet.default(() => fleet.parse({})),
  /** Where state and the audit trail are kept. @default 'memory:' */
  store: store.default('memory:'),
  /** Checks of the application, run by the health endpoint: one that throws or takes longer than 5 s fails. @default {} */
  health: z
    .record(
      identifier,
      z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function'),
    )
    .default({}),
  metrics: z
    .strictObject({
      /** Seconds over which call rates are measured. @default 60 */
      rateWindowSeconds: positive.max(3600).default(60),
      /**
       * Give the calls of each tenant a series of their own, with the attribute `rdcp.tenant.id`: one for each tenant and
       * category that emitted. @default false
       */
      tenantAttribute: z.boolean().default(false),
    })
    .default({ rateWindowSeconds: 60, tenantAttribute: false }),
  /** Say in one line what is switched, by whom and why, and when it ends; and where an instrumentation listens. @default true */
  announce: z.boolean().default(true),
  emit: z
    .strictObject({
      /**
       * Where debug calls go: `otel` (log records of OpenTelemetry), `stderr` (lines to read), `both`, `json` (one object a
       * line on stderr), or a function that takes each as a record. @default otel where somebody configured the export of
       * log records, else stderr
       */
      to: emitTo.optional(),
    })
    .default({}),
  /** Where this package's own messages go, such as a pino logger. @default one line each on stderr */
  logger: logger.optional(),
});

/** What {@link createRdcp} and `RdcpInstrumentation` take. Every field is optional; an unknown one is an error. */
export type RdcpConfig = z.input<typeof configSchema>;

/** The configuration with every default filled in. Durations are in seconds. */
export type ResolvedConfig = z.output<typeof configSchema>;

/**
 * Checks a configuration and fills in the defaults.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, whose message is one line that names the field, what is wrong with its
 * value and what is allowed
 */
export function parseConfig(input: unknown): ResolvedConfig {
  const result = configSchema.safeParse(input ?? {});
  if (result.success) return result.data;
  const { field, message } = firstIssue(result.error);
  const subject = field === '' ? 'the configuration' : `configuration: ${field}`;
  throw new RdcpError('RDCP_CONFIG_INVALID', `${subject} ${message}`, { details: { field } });
}
