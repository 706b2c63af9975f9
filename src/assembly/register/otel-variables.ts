import type { Environment } from './environment.ts';

interface Rule {
  /** Completes "must be …". */
  readonly allowed: string;
  accepts(value: string, env: Environment): boolean;
  /** Whether the SDK uses a part of such a value, or its own default address, so that it must see it. @default false */
  readonly kept?: boolean;
}

const SIGNALS = ['', 'LOGS_', 'METRICS_', 'TRACES_'];
const forSignals = (name: string) => SIGNALS.map((signal) => `OTEL_EXPORTER_OTLP_${signal}${name}`);
const PROTOCOLS = forSignals('PROTOCOL');

const ofNames = (...names: string[]): Rule => ({
  allowed: `one of ${names.join(', ')}`,
  accepts: (value) => names.includes(value),
});
const inRange = (allowed: string, accepts: (number: number) => boolean): Rule => ({
  allowed,
  accepts: (value) => accepts(Number(value)),
});

const ABOVE_ZERO = inRange('a number above 0', (number) => number > 0 && number < Number.POSITIVE_INFINITY);
/** Addresses of gRPC need no scheme. */
const ENDPOINT: Rule = {
  allowed: 'a URL with http:// or https://',
  accepts: (value, env) =>
    (/^https?:\/\//i.test(value) && URL.canParse(value)) || PROTOCOLS.some((name) => env[name]?.trim() === 'grpc'),
  kept: true,
};
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

/** The exporters of each signal, and the propagators, in every SDK that is supported. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  OTEL_LOGS_EXPORTER: ['otlp', 'console', 'none'],
  OTEL_METRICS_EXPORTER: ['otlp', 'prometheus', 'console', 'none'],
  OTEL_TRACES_EXPORTER: ['otlp', 'zipkin', 'jaeger', 'console', 'none'],
  OTEL_PROPAGATORS: ['tracecontext', 'baggage', 'b3', 'b3multi', 'jaeger', 'none'],
};
const partsOf = (value: string) => value.split(',').map((part) => part.trim());

/** The variables that decide whether and where telemetry goes, with what the SDK accepts. */
const RULES: readonly (readonly [names: readonly string[], rule: Rule])[] = [
  [['OTEL_SDK_DISABLED'], { ...ofNames('true', 'false'), accepts: (value) => /^(?:true|false)$/i.test(value) }],
  [PROTOCOLS, ofNames('grpc', 'http/json', 'http/protobuf')],
  [forSignals('ENDPOINT'), ENDPOINT],
  [forSignals('COMPRESSION'), ofNames('gzip', 'none')],
  [
    [
      ...forSignals('TIMEOUT'),
      ...['MAX_QUEUE_SIZE', 'SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_EXPORT_BATCH_SIZE'].flatMap((name) => [
        `OTEL_BLRP_${name}`,
        `OTEL_BSP_${name}`,
      ]),
      ...['OTEL_METRIC_EXPORT_INTERVAL', 'OTEL_METRIC_EXPORT_TIMEOUT'],
    ],
    ABOVE_ZERO,
  ],
  [['OTEL_TRACES_SAMPLER'], ofNames(...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}`))],
  [['OTEL_TRACES_SAMPLER_ARG'], inRange('a number from 0 to 1', (number) => number >= 0 && number <= 1)],
  [
    ['OTEL_EXPORTER_PROMETHEUS_PORT'],
    inRange('a whole number from 0 to 65535', (number) => Number.isInteger(number) && number >= 0 && number <= 65_535),
  ],
  ...Object.entries(LISTS).map(([name, known]): [string[], Rule] => [
    [name],
    { allowed: `of ${known.join(', ')}`, accepts: (value) => partsOf(value).every(isKnown(known)), kept: true },
  ]),
];

const isKnown = (known: readonly string[]) => (part: string) => part === '' || known.includes(part);

/** The names in a variable that is a list, without those that no SDK knows. */
export function knownNames(variable: string, names: readonly string[] = []): string[] {
  return names.filter(isKnown(LISTS[variable] ?? []));
}

/** Values that OpenTelemetry does not accept. It treats most of them as not set, and says so only in its diagnostics. */
export function unusableVariables(env: Environment) {
  const found = RULES.flatMap(([names, rule]) => names.map((name) => ({ name, rule, value: env[name]?.trim() ?? '' })));
  const wrong = found.filter(({ value, rule }) => value !== '' && !rule.accepts(value, env));
  return {
    problems: wrong.map(({ name, rule, value }) => sentence(name, value, rule)),
    ignored: Object.fromEntries(wrong.flatMap(({ name, rule }) => (rule.kept === true ? [] : [[name, '']]))),
  };
}

function sentence(name: string, value: string, { allowed, kept }: Rule): string {
  // An address may have credentials.
  const given = name.endsWith('ENDPOINT') ? '' : `, not ${JSON.stringify(value)}`;
  return `${name}: must be ${allowed}${given}${kept === true ? '' : "; OpenTelemetry's default applies"}`;
}
