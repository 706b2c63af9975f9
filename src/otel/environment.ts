type Variables = Readonly<Record<string, string | undefined>>;

export type SignalName = 'LOGS' | 'METRICS' | 'TRACES';

/** The exporters in `OTEL_<SIGNAL>_EXPORTER`; `undefined` if it is unset. */
export function exporterNames(env: Variables, signal: SignalName): string[] | undefined {
  const names = (env[`OTEL_${signal}_EXPORTER`] ?? '').split(',').map((name) => name.trim());
  const given = names.filter((name) => name !== '');
  return given.length === 0 ? undefined : given;
}

export function endpointVariable(env: Variables, signal: SignalName): string | undefined {
  return [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, 'OTEL_EXPORTER_OTLP_ENDPOINT'].find((name) => isSet(env[name]));
}

/** The variable that enables export of the signal; `undefined` if none is set or the exporter is `none`. */
export function exportVariable(env: Variables, signal: SignalName): string | undefined {
  const names = exporterNames(env, signal);
  if (names === undefined) return endpointVariable(env, signal);
  return names.includes('none') ? undefined : `OTEL_${signal}_EXPORTER`;
}

/** An empty variable counts as unset, as in OpenTelemetry. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
