import type { Instance } from '../../store/fleet.ts';

/** Facts about a process that need no configuration. */
export interface ProcessFacts extends Pick<Instance, 'id' | 'host' | 'pid' | 'startedAt'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A text of the OpenTelemetry resource. */
  readonly resource: (name: string) => string | undefined;
  /** Returns the name in the package.json of the program. */
  readonly packageName: () => string | undefined;
}

/** OpenTelemetry's name for a service without one; a program may be appended. */
const UNNAMED = 'unknown_service';

/**
 * Returns this process's entry in the fleet list. Its service is that of `OTEL_SERVICE_NAME`, otherwise of the resource, otherwise
 * the program's package.
 */
export function describeInstance({ env, resource, packageName, ...facts }: ProcessFacts): Instance {
  const named = env.OTEL_SERVICE_NAME || resource('service.name');
  const version = resource('service.version');
  const serviceInstanceId = resource('service.instance.id');
  return {
    ...facts,
    service: (named?.startsWith(UNNAMED) ? undefined : named) ?? packageName() ?? UNNAMED,
    ...(version !== undefined && { version }),
    ...(serviceInstanceId !== undefined && { serviceInstanceId }),
  };
}
