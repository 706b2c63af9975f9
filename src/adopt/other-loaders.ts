import nodeModule from 'node:module';

// Node.js asks hooks about files that it requires by itself. Loaders that take the place of its function for `.js`, such as tsx's,
// read files and give them to `Module.prototype._compile` without asking, so that this is where their files are found.

type Compile = (this: unknown, source: string, filename: string, ...rest: unknown[]) => unknown;

/** Where Node.js keeps what is not in its types. */
interface Internals {
  readonly _extensions?: { readonly '.js'?: unknown };
  readonly prototype: { _compile?: Compile };
}

const internals = nodeModule as unknown as Internals;

/** Watches what other loaders compile. */
export interface OtherLoaders {
  /** Called with each file that Node.js loads: another loader may have been installed, or is about to be. */
  look(url: string): void;
  /** From now on all that is compiled is watched. */
  watch(): void;
  stop(): void;
}

/**
 * Nothing is patched while Node.js requires files by itself, so that stack traces are as they were.
 * @param changed returns the source to compile in place of the given one
 */
export function watchOtherLoaders(changed: (source: string, filename: string) => string): OtherLoaders {
  let known: unknown;
  let restore: (() => void) | undefined;
  const watch = () => {
    restore ??= patch(changed);
  };
  const look = (url: string) => {
    if (restore !== undefined) return;
    const loader = internals._extensions?.['.js'];
    // Nothing may be loaded by Node.js between tsx's own files and the application.
    if (url.includes('/tsx/dist/') || (loader !== known && !isOfNode(loader))) watch();
    known = loader;
  };
  look('');
  return { look, watch, stop: () => restore?.() };
}

function isOfNode(loader: unknown): boolean {
  return typeof loader === 'function' && Function.prototype.toString.call(loader).includes('loadSource(');
}

function patch(changed: (source: string, filename: string) => string): () => void {
  const { prototype } = internals;
  const compile = prototype._compile;
  if (typeof compile !== 'function') return () => {};
  let watching = true;
  const patched: Compile = function (source, filename, ...rest) {
    const text = watching && typeof source === 'string' ? changed(source, filename) : source;
    return compile.call(this, text, filename, ...rest);
  };
  prototype._compile = patched;
  return () => {
    // Another patch may have been put over this one.
    watching = false;
    if (prototype._compile === patched) prototype._compile = compile;
  };
}
