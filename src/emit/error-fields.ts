import { isNativeError } from 'node:util/types';

/** An error as the fields of OpenTelemetry's exception conventions, plus details. */
export interface ErrorFields {
  readonly type: string;
  readonly message: string;
  readonly stacktrace?: string;
  /** Its code, other own fields of simple types, its cause and aggregated errors. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Number of own fields read. */
const MAX_DETAILS = 50;
const KNOWN = ['name', 'message', 'stack', 'cause', 'errors'];

/** Also recognizes errors of another realm, such as Jest's. */
export function isError(value: unknown): value is Error {
  if (isNativeError(value)) return true;
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Skips fields that are objects: errors of HTTP clients hold requests, with credentials, and sockets. */
export function errorFields(error: Error): ErrorFields {
  const stacktrace = read(error, 'stack');
  const details: Record<string, unknown> = {};
  for (const name of ownNames(error)) {
    const value = read(error, name);
    if (!KNOWN.includes(name) && isSimple(value)) details[name] = value;
  }
  for (const name of ['cause', 'errors']) {
    const value = read(error, name);
    if (value !== undefined) details[name] = value;
  }
  return {
    type: typeOf(error),
    message: textOf(read(error, 'message')),
    ...(typeof stacktrace === 'string' && stacktrace !== '' && { stacktrace }),
    details,
  };
}

/** Describes a thrown value in a few words. Never throws. */
export function describeThrown(thrown: unknown): string {
  if (isError(thrown)) return `${typeOf(thrown)}: ${textOf(read(thrown, 'message')).slice(0, 200)}`;
  return textOf(thrown).slice(0, 200);
}

/** The error's own name, or its class name when that is generic. */
function typeOf(error: Error): string {
  const name = read(error, 'name');
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name;
  const made = read(error, 'constructor');
  const className = typeof made === 'function' ? read(made, 'name') : undefined;
  return typeof className === 'string' && className !== '' ? className : 'Error';
}

function ownNames(error: Error): string[] {
  try {
    return Object.keys(error).slice(0, MAX_DETAILS);
  } catch {
    return [];
  }
}

function read(object: object, name: string): unknown {
  try {
    return Reflect.get(object, name);
  } catch {
    return undefined;
  }
}

function isSimple(value: unknown): boolean {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return typeof value === 'object' || typeof value === 'function' ? typeof value : String(value);
  } catch {
    return typeof value;
  }
}
