/** What the package `debug` exports, as far as 2.6.9, 3.2.7 and the versions from 4.3.4 have it in common. */
export interface DebugExports {
  coerce(value: unknown): unknown;
  /** Keyed by letter: that of `%o` is `o`. */
  readonly formatters: Readonly<Record<string, Formatter | undefined>>;
  enabled(namespace: unknown): unknown;
  enable(this: unknown, namespaces: unknown): unknown;
  /** Reads `DEBUG`. */
  load?(): unknown;
  formatArgs(this: DebugInstance, args: unknown[], ...rest: unknown[]): unknown;
  init?(instance: DebugInstance, ...rest: unknown[]): unknown;
  readonly log: Log;
  /** Every instance, in 3.2.7. */
  readonly instances?: readonly DebugInstance[];
  /** The enabled namespaces, since 4.3.4. */
  namespaces?: unknown;
}

export interface DebugInstance {
  readonly namespace: string;
  readonly useColors?: unknown;
  enabled: boolean;
  log?: Log;
}

export type Log = (this: unknown, ...args: unknown[]) => unknown;
export type Formatter = (this: DebugInstance, value: unknown) => unknown;

/** What is replaced. All versions look these up on the exported function when they need them. */
const PATCHED = ['init', 'enabled', 'enable', 'coerce', 'formatters', 'formatArgs', 'log'];

/** Whether a value is the export of the package `debug`, and can be patched. */
export function isDebug(exports: unknown): exports is DebugExports {
  if (typeof exports !== 'function') return false;
  const known = ['enabled', 'formatArgs', 'log', 'enable', 'disable', 'coerce', 'humanize'];
  return (
    known.every((name) => typeof Reflect.get(exports, name) === 'function') &&
    PATCHED.every((name) => {
      const property = Object.getOwnPropertyDescriptor(exports, name);
      return property === undefined ? Object.isExtensible(exports) : property.writable === true;
    })
  );
}

export function isInstance(logger: object): boolean {
  return (
    typeof logger === 'function' &&
    typeof Reflect.get(logger, 'namespace') === 'string' &&
    'enabled' in logger &&
    'useColors' in logger
  );
}
