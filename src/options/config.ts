import { isIP } from 'node:net';
import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import type { MessageLogger } from '../otel/report/reporter.ts';
import type { StateStore } from '../store/state-store.ts';
import { allowSchema, tenantPatterns } from '../wire/allow.ts';
import { EVERYBODY, ISOLATION_LEVELS, SECURITY_LEVELS } from '../wire/constants.ts';
import { duration } from '../wire/control-request.ts';
import type { DebugRecord } from '../wire/debug-record.ts';
import type { ReadonlyArrays, Shape } from '../wire/documented.ts';
import { RdcpError } from '../wire/errors.ts';
import { firstIssue, UNKNOWN_FIELD } from '../wire/issues.ts';
import { expressionProblem } from '../wire/line-filter.ts';
import { isAddressOrNetwork, UNIX_SOCKET } from '../wire/net/addresses.ts';
import { hostNameOf } from '../wire/net/hosts.ts';
import { createRedaction, isHidden } from '../wire/redaction.ts';
import type * as Options from './options.ts';
import {
  adopt,
  alerts,
  categoryName,
  countOf,
  disabledByDefault,
  durationUpTo,
  identifier,
  notEmpty,
  off,
  optionalDescription,
  optionalFlag,
  optionalIdentifier,
  optionalInstant,
  optionalLabel,
  optionalString,
  optionalText,
  positive,
  scopes,
  text,
  textOrTexts,
  upToAnHour,
} from './schemas/values.ts';

/** Ten years, in seconds: a Timestamp cannot express an end far beyond. */
const LONGEST_DURATION = 3650 * 86_400;

const credentialLimits = { allow: allowSchema.optional(), approval: optionalFlag };

const credentialIdentity = {
  tenantId: optionalIdentifier,
  tenants: tenantPatterns.optional(),
  scopes,
  ...credentialLimits,
} satisfies Shape<Options.CredentialIdentity>;

const credentialClaims = {
  scopeClaim: optionalText,
  tenantClaim: optionalText,
  tenantsClaim: optionalText,
  allowClaim: optionalText,
  ...credentialLimits,
} satisfies Shape<Options.CredentialClaims>;

const isOfOneKind = ({ tenantId, tenants }: { readonly tenantId?: string | undefined; readonly tenants?: unknown }) =>
  tenantId === undefined || tenants === undefined;
const TWO_KINDS = { path: ['tenants'], message: 'cannot be combined with tenantId' };

export const apiKeyRecordSchema = z
  .strictObject({
    id: identifier,
    hash: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 lower-case hex digits'),
    clientId: identifier,
    userId: optionalIdentifier,
    ...credentialIdentity,
    notBefore: optionalInstant,
    expiresAt: optionalInstant,
  } satisfies Shape<Options.ApiKeyRecord>)
  .refine(isOfOneKind, TWO_KINDS);

const tls = z
  .strictObject({
    certFile: text,
    keyFile: text,
    clientCaFile: optionalText,
    crlFile: optionalText,
  } satisfies Shape<Options.TlsOptions>)
  .refine((value) => value.crlFile === undefined || value.clientCaFile !== undefined, {
    path: ['crlFile'],
    message: 'needs clientCaFile: it says which client certificates are revoked',
  });

/** One that the host of a `Host` header can equal. */
const hostName = text.refine((host) => isIP(host) !== 0 || hostNameOf(host) === host.toLowerCase(), {
  message: 'must be a host name without a port, such as shop.example.com, or an IP address',
});

const notAProxy = ({ input }: { readonly input?: unknown }) =>
  `must be an IP address, a network such as 10.0.0.0/8, or '${UNIX_SOCKET}'; it is ${JSON.stringify(input)}`;

const server = z.strictObject({
  host: text.default('127.0.0.1'),
  port: z.number().int().min(0).max(65_535).default(9465),
  tls: tls.optional(),
  allowedHosts: z.array(hostName).default([]),
  behindTlsProxy: disabledByDefault,
  trustedProxies: z
    .array(z.string().refine((entry) => entry === UNIX_SOCKET || isAddressOrNetwork(entry), { error: notAProxy }))
    .default([]),
} satisfies Shape<Options.ServerOptions>);

const category = z.strictObject({
  description: optionalDescription,
  enabled: optionalFlag,
} satisfies Shape<Options.CategorySettings>);

const jwtIssuer = z.strictObject({
  issuer: notEmpty,
  audience: textOrTexts,
  algorithms: z.array(z.enum(['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA'])).min(1, 'must hold at least one algorithm'),
  secret: optionalString,
  publicKey: optionalString,
  jwksUri: optionalString,
  ...credentialClaims,
} satisfies Shape<Options.JwtIssuerOptions>);

const introspection = z.strictObject({
  endpoint: text,
  clientId: text,
  clientSecret: optionalText,
  issuer: optionalText,
  audience: textOrTexts.optional(),
  ...credentialClaims,
} satisfies Shape<Options.IntrospectionOptions>);

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
    ...credentialIdentity,
  } satisfies Shape<Options.CertificateIdentity>)
  .refine(
    ({ fingerprint256, san, subject }) => countOf(fingerprint256, san, subject) === 1,
    'must hold one of fingerprint256, san and subject',
  )
  .refine(isOfOneKind, TWO_KINDS);

const tokens = z
  .strictObject({
    issuer: notEmpty,
    audience: textOrTexts,
    signingKeyFile: optionalText,
    secret: optionalString,
    accessTokenSeconds: positive.max(24 * 3600).default(900),
    refreshTokenSeconds: positive.max(366 * 24 * 3600).default(28_800),
  } satisfies Shape<Options.TokenOptions>)
  .refine(
    ({ signingKeyFile, secret }) => countOf(signingKeyFile, secret) === 1,
    'must hold one of signingKeyFile and secret',
  );

const ticketIssuer = z
  .strictObject({
    issuer: notEmpty,
    audience: textOrTexts.optional(),
    publicKey: optionalString,
    jwksUri: optionalString,
  } satisfies Shape<Options.TicketIssuerOptions>)
  .refine(({ publicKey, jwksUri }) => countOf(publicKey, jwksUri) < 2, 'must not hold both publicKey and jwksUri');

const categoryPatterns = z.array(
  z.string().regex(/^[A-Z0-9_*-]{1,64}$/, 'must be a category name, or a pattern such as SQL_*'),
);

const tickets = z.strictObject({
  issuers: z.array(ticketIssuer),
  categories: categoryPatterns.min(1, 'must hold at least one category').optional(),
  maxDuration: upToAnHour.default(3600),
  sampleTraces: disabledByDefault,
} satisfies Shape<Options.TicketOptions>);

const security = z.strictObject({
  level: z.enum(SECURITY_LEVELS).default('basic'),
  apiKeys: z
    .union([z.strictObject({ file: text } satisfies Shape<Options.ApiKeysFile>), z.array(apiKeyRecordSchema)])
    .optional(),
  jwt: z.union([jwtIssuer, z.array(jwtIssuer).min(1, 'must hold at least one issuer')]).optional(),
  introspection: introspection.optional(),
  mtls: z.strictObject({ identities: z.array(certificateIdentity) } satisfies Shape<Options.MtlsOptions>).optional(),
  tokens: tokens.optional(),
  tickets: tickets.optional(),
  authenticate: z.custom<Options.Authenticate>((value) => typeof value === 'function', 'must be a function').optional(),
} satisfies Shape<Options.SecurityOptions>);

/** RFC 9110, section 5.6.2: what the name of a baggage entry is made of. */
const token = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,255}$/, 'must be the name of a baggage entry');

const tenant = z.strictObject({
  name: optionalLabel,
} satisfies Shape<Options.TenantOptions>);

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
  } satisfies Shape<Options.TenancyOptions>)
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
} satisfies Shape<Options.RateBudgetOptions>);

const processBudget = z.strictObject({
  callsPerSecond: perSecond.default(2000),
  bytesPerSecond: bytesPerSecond.default(1024 ** 2),
} satisfies Shape<Options.ProcessBudgetOptions>);

const budget = z.strictObject({
  callsPerSecond: perSecond.default(500),
  burst: optionalPerSecond,
  bytesPerSecond: bytesPerSecond.optional(),
  categories: z.record(categoryName, z.union([off, rateBudget])).default({}),
  process: z.union([off, processBudget]).prefault({}),
} satisfies Shape<Options.BudgetOptions>);

const controls = z
  .strictObject({
    defaultDuration: duration.default(15 * 60),
    maxDuration: durationUpTo(LONGEST_DURATION).default(24 * 3600),
    maxTemporaryPerTenant: positive.default(100),
    budget: z.union([off, budget]).prefault({}),
  } satisfies Shape<Options.ControlsOptions>)
  .refine((value) => value.defaultDuration <= value.maxDuration, {
    path: ['defaultDuration'],
    message: 'must not be longer than maxDuration',
  });

const tail = z.strictObject({
  scope: z.enum(['admin', 'control']).default('admin'),
  rate: positive.max(10_000).default(100),
} satisfies Shape<Options.TailOptions>);

const recorder = z.strictObject({
  categories: categoryPatterns.max(100).default([]),
  keepSeconds: z.number().int().min(0).max(3600).default(60),
  keepBytes: positive.min(65_536).max(1_073_741_824).default(33_554_432),
  callsPerWork: positive.max(10_000).default(200),
  bytesPerWork: positive.min(1024).max(16_777_216).default(65_536),
  bytes: positive.min(65_536).max(1_073_741_824).default(16_777_216),
  works: positive.max(1_000_000).default(10_000),
  seconds: positive.max(3600).default(60),
  guards: z.boolean().default(true),
} satisfies Shape<Options.RecorderOptions>);

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
} satisfies Shape<Options.ConsoleOptions>);

const fleet = z.strictObject({
  acknowledgeTimeoutSeconds: z.number().min(0).max(25).default(1),
} satisfies Shape<Options.FleetOptions>);

const limits = z.strictObject({
  controlPerMinute: positive.default(60),
  readPerMinute: positive.default(600),
  healthPerMinute: positive.default(600),
  anonymousPerMinute: positive.default(60),
  requestTimeoutSeconds: positive.default(30),
  maxCategories: positive.max(4096).default(4096),
  maxConnections: positive.default(512),
  maxConnectionsPerAddress: positive.default(64),
} satisfies Shape<Options.LimitsOptions>);

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

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}

const STORES = "must be 'memory:', 'sqlite:FILE', 'redis://…', 'rediss://…', 'postgres://…' or a StateStore";

const store = z.union(
  [
    z.string().regex(/^(?:memory:$|sqlite:.|rediss?:|postgres(?:ql)?:)/, STORES),
    z.custom<StateStore>((value) => hasMethods(value, STORE_METHODS)),
  ],
  { error: STORES },
);

const pull = z
  .strictObject({
    file: optionalText,
    url: optionalText,
    every: upToAnHour.default(30),
  } satisfies Shape<Options.PullOptions>)
  .refine(({ file, url }) => countOf(file, url) === 1, 'must hold one of file and url');

const NOTIFY_EVENTS = ['change', 'expiry', 'refusal', 'budget', 'loss', 'credentials', 'failure.recorded'] as const;

const LOGGER_METHODS = ['info', 'warn', 'error'];

const logger = z.custom<MessageLogger>(
  (value) => hasMethods(value, LOGGER_METHODS),
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
  signingKeyFile: optionalText,
} satisfies Shape<Options.AuditOptions>);

const metrics = z.strictObject({
  rateWindowSeconds: positive.max(3600).default(60),
  tenantAttribute: disabledByDefault,
} satisfies Shape<Options.MetricsOptions>);

const emit = z.strictObject({
  to: emitTo.optional(),
  redact: z.union([off, z.array(z.string().min(1).max(256)).max(1000)]).default([]),
} satisfies Shape<Options.EmitOptions>);

const webhook = z.strictObject({
  url: text,
  secret: textOrTexts.optional(),
  events: z.array(z.enum(NOTIFY_EVENTS)).min(1, 'must hold at least one event').optional(),
  format: z.enum(['standard', 'slack']).default('standard'),
} satisfies Shape<Options.WebhookOptions>);

const notify = z.strictObject({
  webhook: z.union([webhook, z.array(webhook).min(1, 'must hold at least one webhook')]).optional(),
} satisfies Shape<Options.NotifyOptions>);

export const configSchema = z
  .strictObject({
    server: z.union([off, server]).prefault({}),
    categories: z.record(categoryName, category).default({}),
    security: security.prefault({}),
    tenancy: z.union([off, tenancy]).default(false),
    controls: controls.prefault({}),
    limits: limits.prefault({}),
    audit: audit.prefault({}),
    fleet: fleet.prefault({}),
    tail: z.union([off, tail]).prefault({}),
    recorder: recorder.prefault({}),
    console: z.union([z.boolean(), consolePage]).optional(),
    pull: pull.optional(),
    store: store.default('memory:'),
    health: z
      .record(
        identifier,
        z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function'),
      )
      .default({}),
    metrics: metrics.prefault({}),
    notify: notify.prefault({}),
    alerts,
    announce: z.boolean().default(true),
    emit: emit.prefault({}),
    adopt: z.union([z.boolean(), adopt]).default(false),
    logger: logger.optional(),
  } satisfies Shape<Options.RdcpConfig>)
  .superRefine(({ alerts, controls, tenancy, emit, pull, security }, context) => {
    if (pull !== undefined && security.tickets === undefined) {
      const message = 'needs security.tickets: its issuers verify the document';
      context.addIssue({ code: 'custom', path: ['pull'], message });
    }
    const redaction = createRedaction(emit.redact);
    for (const [index, { for: duration, tenant, target, filter }] of alerts.entries()) {
      const reject = (path: string[], message: string) =>
        context.addIssue({ code: 'custom', path: ['alerts', index, ...path], message });
      if (duration > controls.maxDuration) reject(['for'], 'must not be longer than controls.maxDuration');
      if (tenant !== undefined && tenancy === false) reject(['tenant'], 'needs tenancy');
      const hidden = Object.keys(target?.match ?? {}).find((name) => isHidden(name, redaction));
      if (hidden !== undefined) reject(['target', 'match', hidden], 'is an attribute whose value is redacted');
      const problem = filter?.where === undefined ? undefined : expressionProblem(filter.where);
      if (problem !== undefined) reject(['filter', 'where'], problem);
    }
  });

// The other direction: the schema accepts whatever the documented types allow.
({}) as Options.RdcpConfig satisfies ReadonlyArrays<z.input<typeof configSchema>>;

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
  const meant = message === UNKNOWN_FIELD ? (REPLACED.get(field) ?? nearestField(field)) : '';
  throw new RdcpError('RDCP_CONFIG_INVALID', `${subject} ${message}${meant}`, { details: { field } });
}

const PAST = ': recorder.categories and recorder.keepSeconds take its place';
/** Options of releases before, and what takes their place. */
const REPLACED = new Map([
  ['tail.historySeconds', PAST],
  ['tail.historyCategories', PAST],
]);

/** Largest edit distance at which a known field is suggested. */
const MISTYPED_LETTERS = 2;

/** Such as `; did you mean server.port?`, or ''. */
function nearestField(field: string): string {
  const path = field.split('.');
  const wrong = path.pop() ?? '';
  const known = fieldsAt(configSchema, path).toSorted((a, b) => distance(a, wrong) - distance(b, wrong));
  const [nearest] = known;
  if (nearest === undefined || distance(nearest, wrong) > MISTYPED_LETTERS) return '';
  return `; did you mean ${[...path, nearest].join('.')}?`;
}

/** The fields of the objects that a schema accepts at a path. */
function fieldsAt(schema: unknown, path: readonly string[]): string[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => fieldsAt(option, path));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return fieldsAt(schema.unwrap(), path);
  }
  const [name, ...rest] = path;
  if (schema instanceof z.ZodObject) {
    return name === undefined ? Object.keys(schema.shape) : fieldsAt(schema.shape[name], rest);
  }
  if (schema instanceof z.ZodRecord) return fieldsAt(schema.valueType, rest);
  return schema instanceof z.ZodArray ? fieldsAt(schema.element, rest) : [];
}
