import { isNativeError } from 'node:util/types';

/** An error by the fields that OpenTelemetry's conventions for exceptions name, and whatever else it says. */
export interface ErrorFields {
  readonly type: string;
  readonly message: string;
  readonly stacktrace?: string;
  /** Its code, its other own fields of a simple type, its cause and the errors that it stands for. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Own fields of an error that are looked at. */
const MAX_DETAILS = 50;
const KNOWN = ['name', 'message', 'stack', 'cause', 'errors'];

/** Also of another realm, such as Jest's. */
export function isError(value: unknown): value is Error {
  if (isNativeError(value)) return true;
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/**
 * Fields that are objects are left out: the errors of HTTP clients carry requests, with their credentials, and sockets.
 */
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

/** What was thrown, in a few words. Never throws. */
export function describeThrown(thrown: unknown): string {
  if (isError(thrown)) return `${typeOf(thrown)}: ${textOf(read(thrown, 'message')).slice(0, 200)}`;
  return textOf(thrown).slice(0, 200);
}

/** The name that the error gives itself; where that says nothing, its class. */
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
