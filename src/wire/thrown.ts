// Reads errors, and whatever else an application throws. Nothing here throws, whatever the value is: a proxy that was revoked, a
// getter that throws, a name that is a symbol.

/** An error as the fields of OpenTelemetry's exception conventions, plus details. */
export interface ErrorFields {
  readonly type: string;
  readonly message: string;
  readonly stacktrace?: string;
  /** Its code, other own fields of simple types, its cause and aggregated errors. */
  readonly details: Readonly<Record<string, unknown>>;
}

const MAX_DETAILS = 50;
const SIMPLE = ['string', 'number', 'boolean', 'bigint'];
const KNOWN = ['name', 'message', 'stack', 'cause', 'errors'];
/** Longest description of a thrown value, and longest type of an error, in characters. */
const MAX_DESCRIPTION = 200;
const MAX_TYPE = 100;

/** Also recognizes errors of another realm, such as Jest's. */
export function isError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
  } catch {
    return false;
  }
}

/** Reads a field; `undefined` where there is no object, or its getter throws. */
export function fieldOf(value: unknown, name: PropertyKey): unknown {
  try {
    return Reflect.get(Object(value), name);
  } catch {
    return undefined;
  }
}

/** Skips fields that are objects: errors of HTTP clients hold requests, with credentials, and sockets. */
export function errorFields(error: Error): ErrorFields {
  const stacktrace = fieldOf(error, 'stack');
  const details: Record<string, unknown> = {};
  for (const name of ownNames(error)) {
    const value = fieldOf(error, name);
    if (!KNOWN.includes(name) && SIMPLE.includes(typeof value)) details[name] = value;
  }
  for (const name of ['cause', 'errors']) {
    const value = fieldOf(error, name);
    if (value !== undefined) details[name] = value;
  }
  return {
    type: errorType(error),
    message: messageOf(error),
    ...(typeof stacktrace === 'string' && stacktrace !== '' && { stacktrace }),
    details,
  };
}

export function describeThrown(thrown: unknown): string {
  const message = messageOf(thrown).slice(0, MAX_DESCRIPTION);
  return isError(thrown) ? `${errorType(thrown)}: ${message}` : message;
}

/** The message of an error, or a thrown value as text. */
export function messageOf(thrown: unknown): string {
  const value = isError(thrown) ? fieldOf(thrown, 'message') : thrown;
  return typeof value === 'object' || typeof value === 'function' ? typeof value : String(value);
}

/** The type of a thrown value, without its message, which may hold what must not leave the process. */
export function typeOfThrown(thrown: unknown): string {
  return isError(thrown) ? errorType(thrown) : typeof thrown;
}

/** The code of a system's or library's error, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  const code = isError(thrown) ? fieldOf(thrown, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The error's own name, or its class name when that is generic. */
function errorType(error: Error): string {
  const name = fieldOf(error, 'name');
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name.slice(0, MAX_TYPE);
  const className = fieldOf(fieldOf(error, 'constructor'), 'name');
  return typeof className === 'string' && className !== '' ? className.slice(0, MAX_TYPE) : 'Error';
}

function ownNames(error: Error): string[] {
  try {
    return Object.keys(error).slice(0, MAX_DETAILS);
  } catch {
    return [];
  }
}
