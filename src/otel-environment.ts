type Variables = Readonly<Record<string, string | undefined>>;

/** A signal as OpenTelemetry's variables name it. */
export type SignalName = 'LOGS' | 'METRICS' | 'TRACES';

/** The exporters that `OTEL_<SIGNAL>_EXPORTER` names; `undefined` where it is not set. */
export function exporterNames(env: Variables, signal: SignalName): string[] | undefined {
  const names = (env[`OTEL_${signal}_EXPORTER`] ?? '').split(',').map((name) => name.trim());
  const given = names.filter((name) => name !== '');
  return given.length === 0 ? undefined : given;
}

/** The variable that names an OTLP endpoint for the signal. */
export function endpointVariable(env: Variables, signal: SignalName): string | undefined {
  return [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, 'OTEL_EXPORTER_OTLP_ENDPOINT'].find((name) => isSet(env[name]));
}

/** The variable that asks for the signal to be exported; `undefined` where none is set, or it says `none`. */
export function exportVariable(env: Variables, signal: SignalName): string | undefined {
  const names = exporterNames(env, signal);
  if (names === undefined) return endpointVariable(env, signal);
  return names.includes('none') ? undefined : `OTEL_${signal}_EXPORTER`;
}

/** An empty variable counts as not set, as OpenTelemetry has it. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
