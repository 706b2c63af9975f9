import { z } from 'zod';
import { isAddressOrNetwork, UNIX_SOCKET } from './addresses.ts';
import type { DebugRecord } from './emit/record.ts';
import { RdcpError } from './errors.ts';
import type {
  AdoptOptions,
  AdoptPinoOptions,
  AdoptRule,
  ApiKeyRecord,
  ApiKeysFile,
  AuditOptions,
  Authenticate,
  BudgetOptions,
  CategorySettings,
  CertificateIdentity,
  ConsoleOptions,
  ControlsOptions,
  EmitOptions,
  FleetOptions,
  IntrospectionOptions,
  JwtIssuerOptions,
  LimitsOptions,
  MetricsOptions,
  MtlsOptions,
  NotifyOptions,
  ProcessBudgetOptions,
  RateBudgetOptions,
  RdcpConfig,
  SecurityOptions,
  ServerOptions,
  TailOptions,
  TenancyOptions,
  TenantOptions,
  TlsOptions,
  TokenOptions,
  WebhookOptions,
} from './options.ts';
import { EVERYBODY, ISOLATION_LEVELS, SCOPES, SECURITY_LEVELS } from './protocol/constants.ts';
import { duration } from './protocol/control-request.ts';
import type { ReadonlyArrays, Shape } from './protocol/documented.ts';
import { firstIssue } from './protocol/issues.ts';
import { IDENTIFIER, isCategoryName } from './protocol/names.ts';
import { formatDuration } from './protocol/time.ts';
import type { MessageLogger } from './reporter.ts';
import type { StateStore } from './store/state-store.ts';

/** Ten years, in seconds: a Timestamp cannot express an end far beyond. */
const LONGEST_DURATION = 3650 * 86_400;

// Shared wherever they are used: each schema takes 2 KB of a service's memory.
const text = z.string().min(1);
const optionalText = text.optional();
const textOrTexts = z.union([text, z.array(text).min(1)]);
const optionalString = z.string().optional();
const optionalLabel = z.string().min(1).max(200).optional();
const optionalDescription = z.string().max(1000).optional();
const notEmpty = z.string().min(1, 'must not be empty');
const optionalFlag = z.boolean().optional();
const off = z.literal(false);
const disabledByDefault = z.boolean().default(false);
const positive = z.number().int().positive();
const categoryName = z
  .string()
  .refine(isCategoryName, 'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$');
const identifier = z.string().regex(IDENTIFIER, 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
const optionalIdentifier = identifier.optional();
const scopes = z.array(z.enum(SCOPES)).min(1, 'must hold at least one scope');
const optionalInstant = z.iso.datetime({ message: 'must be a UTC time such as 2026-01-31T00:00:00.000Z' }).optional();

export const apiKeyRecordSchema = z.strictObject({
  id: identifier,
  hash: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 lower-case hex digits'),
  clientId: identifier,
  userId: optionalIdentifier,
  tenantId: optionalIdentifier,
  scopes,
  notBefore: optionalInstant,
  expiresAt: optionalInstant,
} satisfies Shape<ApiKeyRecord>);

const tls = z
  .strictObject({
    certFile: text,
    keyFile: text,
    clientCaFile: optionalText,
    crlFile: optionalText,
  } satisfies Shape<TlsOptions>)
  .refine((value) => value.crlFile === undefined || value.clientCaFile !== undefined, {
    path: ['crlFile'],
    message: 'needs clientCaFile: it says which client certificates are revoked',
  });

const notAProxy = ({ input }: { readonly input?: unknown }) =>
  `must be an IP address, a network such as 10.0.0.0/8, or '${UNIX_SOCKET}'; it is ${JSON.stringify(input)}`;

const server = z.strictObject({
  host: text.default('127.0.0.1'),
  port: z.number().int().min(0).max(65_535).default(9465),
  tls: tls.optional(),
  allowedHosts: z.array(text).default([]),
  behindTlsProxy: disabledByDefault,
  trustedProxies: z
    .array(z.string().refine((entry) => entry === UNIX_SOCKET || isAddressOrNetwork(entry), { error: notAProxy }))
    .default([]),
} satisfies Shape<ServerOptions>);

const category = z.strictObject({
  description: optionalDescription,
  enabled: optionalFlag,
} satisfies Shape<CategorySettings>);

const jwtIssuer = z.strictObject({
  issuer: notEmpty,
  audience: textOrTexts,
  algorithms: z.array(z.enum(['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA'])).min(1, 'must hold at least one algorithm'),
  secret: optionalString,
  publicKey: optionalString,
  jwksUri: optionalString,
  scopeClaim: optionalText,
  tenantClaim: optionalText,
} satisfies Shape<JwtIssuerOptions>);

const introspection = z.strictObject({
  endpoint: text,
  clientId: text,
  clientSecret: optionalText,
  issuer: optionalText,
  audience: textOrTexts.optional(),
  scopeClaim: optionalText,
  tenantClaim: optionalText,
} satisfies Shape<IntrospectionOptions>);

const certificateIdentity = z
  .strictObject({
    fingerprint256: z
      .string()
      .regex(
        /^(?:[0-9a-fA-F]{64}|(?:[0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2})$/,
        'must be 64 hex digits, or 32 pairs with colons',
      )
      .optional(),
    san: optionalText,
    subject: z.string().regex(/=/, 'must be a whole subject such as CN=ops,O=Example').optional(),
    userId: identifier,
    clientId: optionalIdentifier,
    tenantId: optionalIdentifier,
    scopes,
  } satisfies Shape<CertificateIdentity>)
  .refine(
    ({ fingerprint256, san, subject }) => [fingerprint256, san, subject].filter((it) => it !== undefined).length === 1,
    {
      message: 'must hold one of fingerprint256, san and subject',
    },
  );

const tokens = z
  .strictObject({
    issuer: notEmpty,
    audience: textOrTexts,
    signingKeyFile: optionalText,
    secret: optionalString,
    accessTokenSeconds: positive.max(24 * 3600).default(900),
    refreshTokenSeconds: positive.max(366 * 24 * 3600).default(28_800),
  } satisfies Shape<TokenOptions>)
  .refine(({ signingKeyFile, secret }) => (signingKeyFile === undefined) !== (secret === undefined), {
    message: 'must hold one of signingKeyFile and secret',
  });

const security = z.strictObject({
  level: z.enum(SECURITY_LEVELS).default('basic'),
  apiKeys: z
    .union([z.strictObject({ file: text } satisfies Shape<ApiKeysFile>), z.array(apiKeyRecordSchema)])
    .optional(),
  jwt: z.union([jwtIssuer, z.array(jwtIssuer).min(1, 'must hold at least one issuer')]).optional(),
  introspection: introspection.optional(),
  mtls: z.strictObject({ identities: z.array(certificateIdentity) } satisfies Shape<MtlsOptions>).optional(),
  tokens: tokens.optional(),
  authenticate: z.custom<Authenticate>((value) => typeof value === 'function', 'must be a function').optional(),
} satisfies Shape<SecurityOptions>);

/** RFC 9110, section 5.6.2: what the name of a baggage entry is made of. */
const token = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,255}$/, 'must be the name of a baggage entry');

const tenant = z.strictObject({
  name: optionalLabel,
} satisfies Shape<TenantOptions>);

const tenancy = z
  .strictObject({
    isolation: z.enum(ISOLATION_LEVELS),
    namespace: optionalIdentifier,
    tenants: z
      .record(
        identifier.refine((id) => id !== EVERYBODY, `must not be ${EVERYBODY}, which stands for all tenants`),
        tenant,
      )
      .default({}),
    baggageKey: token.optional(),
  } satisfies Shape<TenancyOptions>)
  .superRefine(({ isolation, namespace }, context) => {
    if ((isolation === 'namespace') === (namespace !== undefined)) return;
    const message = namespace === undefined ? 'is required' : 'is not allowed';
    context.addIssue({ code: 'custom', path: ['namespace'], message: `${message} at isolation ${isolation}` });
  });

const perSecond = z.number().int().min(1).max(1_000_000);
const optionalPerSecond = perSecond.optional();
const bytesPerSecond = z
  .number()
  .int()
  .min(1024)
  .max(1024 ** 3);

const rateBudget = z.strictObject({
  callsPerSecond: optionalPerSecond,
  burst: optionalPerSecond,
  bytesPerSecond: bytesPerSecond.optional(),
} satisfies Shape<RateBudgetOptions>);

const processBudget = z.strictObject({
  callsPerSecond: perSecond.default(2000),
  bytesPerSecond: bytesPerSecond.default(1024 ** 2),
} satisfies Shape<ProcessBudgetOptions>);

const budget = z.strictObject({
  callsPerSecond: perSecond.default(500),
  burst: optionalPerSecond,
  bytesPerSecond: bytesPerSecond.optional(),
  categories: z.record(categoryName, z.union([off, rateBudget])).default({}),
  process: z.union([off, processBudget]).prefault({}),
} satisfies Shape<BudgetOptions>);

const controls = z
  .strictObject({
    defaultDuration: duration.default(15 * 60),
    maxDuration: duration.default(24 * 3600),
    maxTemporaryPerTenant: positive.default(100),
    budget: z.union([off, budget]).prefault({}),
  } satisfies Shape<ControlsOptions>)
  .refine((value) => value.maxDuration <= LONGEST_DURATION, {
    path: ['maxDuration'],
    message: `must be at most ${formatDuration(LONGEST_DURATION)}`,
  })
  .refine((value) => value.defaultDuration <= value.maxDuration, {
    path: ['defaultDuration'],
    message: 'must not be longer than maxDuration',
  });

const tail = z.strictObject({
  scope: z.enum(['admin', 'control']).default('admin'),
  maxStreams: positive.max(64).default(8),
  rate: positive.max(10_000).default(100),
} satisfies Shape<TailOptions>);

/** Anything but these may stand between them: the page puts encoded ids in their place. */
function isTraceUrl(template: string): boolean {
  const url = URL.parse(template.replaceAll(/\{(?:traceId|spanId)\}/g, '0'));
  return /^https?:$/.test(url?.protocol ?? '') && template.includes('{traceId}') && url?.password === '';
}

const consolePage = z.strictObject({
  traceUrl: z
    .string()
    .max(2000)
    .refine(
      isTraceUrl,
      'must be an http or https URL with {traceId} in it, such as https://traces.example.com/{traceId}',
    )
    .optional(),
} satisfies Shape<ConsoleOptions>);

const fleet = z.strictObject({
  acknowledgeTimeoutSeconds: z.number().min(0).max(25).default(1),
  service: optionalLabel,
  version: optionalLabel,
} satisfies Shape<FleetOptions>);

const limits = z.strictObject({
  controlPerMinute: positive.default(60),
  readPerMinute: positive.default(600),
  healthPerMinute: positive.default(600),
  anonymousPerMinute: positive.default(60),
  requestTimeoutSeconds: positive.default(30),
  maxCategories: positive.max(4096).default(4096),
  memoryStoreBytes: positive.min(1024 * 1024).default(64 * 1024 * 1024),
  maxConnections: positive.default(512),
  maxConnectionsPerAddress: positive.default(64),
} satisfies Shape<LimitsOptions>);

/** The methods of a StateStore. Checked by name, because a store may be an instance of any class. */
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

const NOTIFY_EVENTS = ['change', 'expiry', 'refusal', 'budget', 'loss', 'credentials'] as const;

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

const audit = z.strictObject({
  retentionDays: positive.max(36_500).default(90),
  refusalBytesPerDay: positive.min(1024 * 1024).default(16 * 1024 * 1024),
  signingKeyFile: optionalText,
} satisfies Shape<AuditOptions>);

const metrics = z.strictObject({
  rateWindowSeconds: positive.max(3600).default(60),
  tenantAttribute: disabledByDefault,
} satisfies Shape<MetricsOptions>);

const emit = z.strictObject({
  to: emitTo.optional(),
  redact: z.union([off, z.array(z.string().min(1).max(256)).max(1000)]).default([]),
} satisfies Shape<EmitOptions>);

const webhook = z.strictObject({
  url: text,
  secret: textOrTexts.optional(),
  events: z.array(z.enum(NOTIFY_EVENTS)).min(1, 'must hold at least one event').optional(),
  format: z.enum(['standard', 'slack']).default('standard'),
} satisfies Shape<WebhookOptions>);

const notify = z.strictObject({
  webhook: z.union([webhook, z.array(webhook).min(1, 'must hold at least one webhook')]).optional(),
} satisfies Shape<NotifyOptions>);

const adoptRule = z
  .strictObject({
    match: z.union([z.string().max(1000), z.instanceof(RegExp)], {
      error: 'must be a text, in which * stands for any characters, or a regular expression',
    }),
    name: categoryName.optional(),
    group: categoryName.optional(),
    description: optionalDescription,
    exclude: optionalFlag,
  } satisfies Shape<AdoptRule>)
  .refine(({ name, group, exclude }) => [name, group, exclude].filter((it) => it !== undefined).length <= 1, {
    message: 'must hold at most one of name, group and exclude',
  });

const adoptPino = z.strictObject({
  bindings: z
    .union(
      [
        z.array(text).min(1),
        z.custom<Exclude<NonNullable<AdoptPinoOptions['bindings']>, readonly string[]>>(
          (value) => typeof value === 'function',
        ),
      ],
      { error: 'must be a list of names of bindings, or a function from bindings to a name' },
    )
    .optional(),
} satisfies Shape<AdoptPinoOptions>);

const adopt = z.strictObject({
  debug: optionalFlag,
  pino: z.union([z.boolean(), adoptPino]).optional(),
  winston: optionalFlag,
  nest: optionalFlag,
  debuglog: optionalFlag,
  channels: optionalFlag,
  otel: optionalFlag,
  map: z.array(adoptRule).max(1000).optional(),
} satisfies Shape<AdoptOptions>);

export const configSchema = z.strictObject({
  server: z.union([off, server]).prefault({}),
  categories: z.record(categoryName, category).default({}),
  security: security.prefault({}),
  tenancy: z.union([off, tenancy]).default(false),
  controls: controls.prefault({}),
  limits: limits.prefault({}),
  audit: audit.prefault({}),
  fleet: fleet.prefault({}),
  tail: z.union([off, tail]).prefault({}),
  console: z.union([z.boolean(), consolePage]).optional(),
  store: store.default('memory:'),
  health: z
    .record(
      identifier,
      z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function'),
    )
    .default({}),
  metrics: metrics.prefault({}),
  notify: notify.prefault({}),
  announce: z.boolean().default(true),
  emit: emit.prefault({}),
  adopt: z.union([z.boolean(), adopt]).default(false),
  logger: logger.optional(),
} satisfies Shape<RdcpConfig>);

// The other direction: the schema accepts whatever the documented types allow.
({}) as RdcpConfig satisfies ReadonlyArrays<z.input<typeof configSchema>>;

/** The configuration with every default filled in. Durations are in seconds. */
export type ResolvedConfig = ReadonlyArrays<z.output<typeof configSchema>>;

/** Settings of a listener of our own. */
export type ServerConfig = Exclude<ResolvedConfig['server'], false>;

/**
 * Checks a configuration and fills in the defaults.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, whose message is one line that names the field, what is wrong with its
 * value and what is allowed
 */
export function parseConfig(input: unknown): ResolvedConfig {
  // Parsed once, at the start: to compile the parser takes longer than to parse without.
  const result = configSchema.safeParse(input ?? {}, { jitless: true });
  if (result.success) return result.data;
  const { field, message } = firstIssue(result.error);
  const subject = field === '' ? 'the configuration' : `configuration: ${field}`;
  throw new RdcpError('RDCP_CONFIG_INVALID', `${subject} ${message}`, { details: { field } });
}
