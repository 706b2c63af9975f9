import { fieldOf } from '../../wire/thrown.ts';

/** A few fields copied from a message, by the names of OpenTelemetry's semantic conventions. */
export type Fields = Readonly<Record<string, string | number | undefined>>;

/** The path of a request's target, without its query. `undefined` for a target that has no path, as of CONNECT. */
export function pathOf(target: unknown): string | undefined {
  if (typeof target !== 'string') return undefined;
  const path = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? /^[^?#]*/.exec(path)?.[0] : undefined;
}

/** The code or the name of an error. Its message may hold anything. */
export function errorType(error: unknown): Fields {
  return { 'error.type': text(fieldOf(error, 'code')) ?? text(fieldOf(error, 'name')) ?? '_OTHER' };
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function number(value: unknown): number | undefined {
  const converted = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof converted === 'number' && Number.isFinite(converted) ? converted : undefined;
}
