import nodeModule from 'node:module';
import { Patches } from './patches.ts';

// Node.js asks hooks about files that it requires by itself. Loaders that take the place of its function for `.js`, such as tsx's,
// read files and give them to `Module.prototype._compile` without asking, so that this is where their files are found.

/** Where Node.js keeps what is not in its types. */
interface Internals {
  readonly _extensions?: { readonly '.js'?: unknown };
  readonly prototype: object;
}

const internals = nodeModule as unknown as Internals;

/**
 * Watches what other loaders compile. Nothing is patched while Node.js requires files by itself, so that stack traces are as they were.
 * @param changed returns the source to compile in place of the given one
 */
export function watchOtherLoaders(changed: (source: string, filename: string) => string) {
  const patches = new Patches();
  let known: unknown;
  let isWatching = false;
  /** From now on all that is compiled is watched. */
  const watch = () => {
    if (isWatching) return;
    isWatching = true;
    patches.wrap<unknown>(internals.prototype, '_compile', (compile, live) => {
      return function (this: unknown, source: unknown, filename: unknown, ...rest: unknown[]) {
        const text = live.on && typeof source === 'string' ? changed(source, String(filename)) : source;
        return compile.call(this, text, filename, ...rest);
      };
    });
  };
  /** Called with each file that Node.js loads: another loader may have been installed, or is about to be. */
  const look = (url: string) => {
    if (isWatching) return;
    const loader = internals._extensions?.['.js'];
    // Nothing may be loaded by Node.js between tsx's own files and the application.
    if (url.includes('/tsx/dist/') || (loader !== known && !isOfNode(loader))) watch();
    known = loader;
  };
  look('');
  return { look, watch, stop: () => patches.restore() };
}

function isOfNode(loader: unknown): boolean {
  return typeof loader === 'function' && Function.prototype.toString.call(loader).includes('loadSource(');
}
