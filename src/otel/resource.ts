import { registeredProviders } from './telemetry.ts';

/** An attribute of the registered SDK's resource, in private fields that both lines have; otherwise of `OTEL_RESOURCE_ATTRIBUTES`. */
export function resourceAttribute(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const resources = Object.values(registeredProviders()).map(
    (provider) => field(provider, '_resource') ?? field(field(provider, '_sharedState'), 'resource'),
  );
  const values = resources.flatMap(rawAttributes).filter(([key, value]) => key === name && typeof value === 'string');
  // The first of two values counts.
  return (values[0]?.[1] as string | undefined) ?? variableAttributes(env.OTEL_RESOURCE_ATTRIBUTES ?? '').get(name);
}

/** Unlike `attributes`, this does not warn while a detector is still at work. A value may be a promise. */
function rawAttributes(resource: unknown): (readonly [name: string, value: unknown])[] {
  const read = field(resource, 'getRawAttributes');
  try {
    return typeof read === 'function' ? read.call(resource) : [];
  } catch {
    return [];
  }
}

function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
}

/** Parses `key=value,key=value` with percent-encoded values (OpenTelemetry, resource SDK). Skips malformed pairs. */
function variableAttributes(text: string): ReadonlyMap<string, string> {
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
