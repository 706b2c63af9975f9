import type { Instance } from '../store/fleet-store.ts';

/** Facts about a process that need no configuration. */
export interface ProcessFacts {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** OpenTelemetry's name for a service without one. */
const UNNAMED = 'unknown_service';

/**
 * Returns this process's entry in the fleet list. Service name and version come from the configuration, or else from
 * `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export function describeInstance(
  { env, ...facts }: ProcessFacts,
  given: { readonly service?: string | undefined; readonly version?: string | undefined },
): Instance {
  const attributes = resourceAttributes(env.OTEL_RESOURCE_ATTRIBUTES ?? '');
  const named = env.OTEL_SERVICE_NAME === '' ? undefined : env.OTEL_SERVICE_NAME;
  const version = given.version ?? attributes.get('service.version');
  return {
    ...facts,
    service: given.service ?? named ?? attributes.get('service.name') ?? UNNAMED,
    ...(version !== undefined && { version }),
  };
}

/** Parses `key=value,key=value` with percent-encoded values (OpenTelemetry, resource SDK). Skips malformed pairs. */
function resourceAttributes(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=');
    try {
      return at < 0 ? [] : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]];
    } catch {
      return [];
    }
  });
  return new Map(pairs.filter(([, value]) => value !== ''));
}
