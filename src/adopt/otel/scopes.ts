import { gate } from '../../gate/gate.ts';
import { INSTRUMENTATION_NAME } from '../../wire/version.ts';
import type { AdoptedCategory } from '../category.ts';
import { processAdoption } from '../process.ts';
import type { SourceOption } from '../types.ts';

/** Scopes through which loggers that have categories themselves become OpenTelemetry records. */
const BRIDGES: Readonly<Record<string, SourceOption>> = {
  '@opentelemetry/instrumentation-pino': 'pino',
  '@opentelemetry/winston-transport': 'winston',
};

/** The more scopes, the likelier their names are made from data. */
const MAX_SCOPES = 4096;

const categories = new Map<string, AdoptedCategory>();

/**
 * The category of an instrumentation scope. `undefined` if its records are not to be gated: those of this package, those of
 * loggers that are adopted themselves, those of scopes that are excluded, and all where there is no remote control.
 */
export function scopeCategory(scope: string): AdoptedCategory | undefined {
  const adoption = processAdoption(gate);
  if (!adoption.active || scope === INSTRUMENTATION_NAME) return undefined;
  const bridged = Object.hasOwn(BRIDGES, scope) ? BRIDGES[scope] : undefined;
  if (bridged !== undefined && adoption.adopts(bridged)) return undefined;
  const known = categories.get(scope);
  if (known !== undefined) return known;
  const category = adoption.category('otel', `otel:${scope}`, {
    description: `log records below INFO of the OpenTelemetry scope ${scope}`,
  });
  if (category !== undefined && categories.size < MAX_SCOPES) categories.set(scope, category);
  return category;
}
