import { readFileSync } from 'node:fs';
import nodeModule from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { watchByInstrumentation } from './otel/hook.ts';
import { watchOtherLoaders } from './other-loaders.ts';
import type { AdoptedModule, LibraryCopy } from './types.ts';
import { isSupported, satisfies } from './versions.ts';

/** A library file that has run. */
export interface Loaded {
  readonly module: AdoptedModule;
  readonly exports: unknown;
  readonly copy: LibraryCopy;
}

/** Events of a hook. */
export interface LoadEvents {
  /** A copy of a module, those that were loaded before included. */
  loaded(loaded: Loaded): void;
  /** A copy of a version that is in no range. It may be reported more than once. */
  unsupported(module: AdoptedModule, version: string): void;
  /** Only what is required is found here, and imports with OpenTelemetry's loader. */
  onlyRequired(): void;
  failed(error: unknown): void;
}

/** Returns a function that stops. */
export type LoadHook = (modules: readonly AdoptedModule[], events: LoadEvents) => () => void;

/** The function that the line appended to a library's file calls. Its version changes with the arguments. */
const HANDOVER = 'opentelemetry-instrumentation-rdcp.loaded.v1';

/** Releases of Node.js in which synchronous hooks work beside asynchronous ones (nodejs/node#57327). */
const SAFE_RELEASES = ['>=22.22.3 <23', '>=24.11.1 <25', '>=26.0.0'];

/** Whether this release of Node.js has synchronous hooks that work beside asynchronous ones. */
export function hooksMix(): boolean {
  return (
    typeof nodeModule.registerHooks === 'function' &&
    SAFE_RELEASES.some((range) => satisfies(process.versions.node, range))
  );
}

/** Where synchronous hooks do not work beside others: what is found nevertheless. Other runtimes name a release of Node.js, too. */
export function onlyRequiredMessage(release: string): string {
  if (SAFE_RELEASES.some((range) => satisfies(release, range)))
    return 'adopt: this runtime lacks module.registerHooks of Node.js: imported libraries are not found, required ones where it loads them as Node.js does';
  return `adopt: on Node.js ${release} required libraries are found, imported ones only with OpenTelemetry's loader (--experimental-loader=@opentelemetry/instrumentation/hook.mjs); Node.js 22.22.3, 24.11.1, 26 and later releases of each find both`;
}

/** Watches by the synchronous hooks of Node.js, or by OpenTelemetry's hooks where those do not work beside others. */
export const watchModules: LoadHook = (modules, events) => {
  const hooks = hooksMix();
  const stop = hooks ? watchByHooks(modules, events) : watchByInstrumentation(modules, events);
  if (!hooks) events.onlyRequired();
  reportLoaded(modules, events);
  return stop;
};

function watchByHooks(modules: readonly AdoptedModule[], events: LoadEvents): () => void {
  const key = Symbol.for(HANDOVER);
  const handover = (exports: unknown, url: string) => {
    try {
      const found = findModule(modules, url, events);
      if (found !== undefined) events.loaded({ ...found, exports, copy: { ...found.copy, loadedBefore: false } });
    } catch (error) {
      events.failed(error);
    }
  };
  Object.defineProperty(globalThis, key, { value: handover, configurable: true });
  const others = watchOtherLoaders((source, filename) => {
    try {
      if (candidates(modules, filename.replaceAll('\\', '/')).length === 0) return source;
      const url = pathToFileURL(filename).href;
      const found = source.includes(HANDOVER) ? undefined : findModule(modules, url, events);
      return (found && changedSource(url, source, 'commonjs', found.module)) ?? source;
    } catch (error) {
      events.failed(error);
      return source;
    }
  });
  const hooks = nodeModule.registerHooks({
    load(url, context, nextLoad) {
      others.look(url);
      const result = nextLoad(url, context);
      try {
        const found = findModule(modules, url, events);
        if (found === undefined) return result;
        // Imported CommonJS beside an asynchronous hook, which Node.js goes on to require without asking again. With a source
        // of ours instead, all that the file requires would pass the asynchronous hook, and be wrapped by it.
        if (result.source === null || result.source === undefined) {
          others.watch();
          return result;
        }
        const source = changedSource(url, result.source, result.format, found.module);
        return source === undefined ? result : { ...result, source };
      } catch (error) {
        events.failed(error);
        return result;
      }
    },
  });
  return () => {
    hooks.deregister();
    others.stop();
    // Files that were loaded keep the line.
    if (Reflect.get(globalThis, key) === handover) Reflect.deleteProperty(globalThis, key);
  };
}

/** Returns the edited source, or one with a line that hands over what it exports; `undefined` where the format is another. */
function changedSource(
  url: string,
  source: unknown,
  format: string | null | undefined,
  { esm, edit }: AdoptedModule,
): string | undefined {
  // Required files of packages without `"type"` have no format.
  const isCommonJs = format === 'commonjs' || format === undefined || format === null;
  if (esm === true ? format !== 'module' : !isCommonJs) return undefined;
  const text = textOf(source);
  if (text === undefined) return undefined;
  if (edit !== undefined) return edit(text);
  const handOver = (exports: string) => `globalThis[Symbol.for('${HANDOVER}')]?.(${exports}, ${JSON.stringify(url)});`;
  // A module can import itself: so its exports have a name that it does not use.
  return esm === true
    ? `${text}\n;import * as $rdcpExports from ${JSON.stringify(url)};${handOver('$rdcpExports')}`
    : `${text}\n;${handOver('module.exports')}`;
}

function textOf(source: unknown): string | undefined {
  if (typeof source === 'string') return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return new TextDecoder().decode(source as Uint8Array);
  return undefined;
}

/** Reports what the CommonJS loader has loaded. Imported CommonJS is there, too. */
function reportLoaded(modules: readonly AdoptedModule[], events: LoadEvents): void {
  const cache: unknown = Reflect.get(nodeModule, '_cache');
  if (typeof cache !== 'object' || cache === null) return;
  for (const [file, entry] of Object.entries(cache as Record<string, NodeJS.Module | undefined>)) {
    if (candidates(modules, file.replaceAll('\\', '/')).length === 0) continue;
    const found = entry?.loaded === true ? findModule(modules, pathToFileURL(file).href, events) : undefined;
    if (found === undefined || found.module.edit !== undefined) continue;
    events.loaded({ ...found, exports: entry?.exports, copy: { ...found.copy, loadedBefore: true } });
  }
}

/** The modules whose file a path ends with. */
function candidates(modules: readonly AdoptedModule[], path: string): readonly AdoptedModule[] {
  return modules.filter(({ file }) => path.endsWith(`/${file}`));
}

interface ModuleMatch {
  readonly module: AdoptedModule;
  readonly copy: Omit<LibraryCopy, 'loadedBefore'>;
}

/** Finds the module that a file is, by the name and version in its package's own package.json. */
function findModule(modules: readonly AdoptedModule[], url: string, events: LoadEvents): ModuleMatch | undefined {
  if (!url.startsWith('file:')) return undefined;
  const end = url.indexOf('?');
  // Wrappers of import-in-the-middle: the library itself follows under its own URL.
  if (end !== -1 && url.includes('iitm=true', end)) return undefined;
  const path = end === -1 ? url : url.slice(0, end);
  for (const module of candidates(modules, path)) {
    const manifest = manifestOf(`${path.slice(0, -module.file.length)}package.json`);
    if (manifest?.name !== module.name) continue;
    const { name, version } = manifest;
    if (satisfies(version, module.versions)) return { module, copy: { name, version, url: path } };
    if (!isSupported(modules, name, version)) events.unsupported(module, version);
  }
  return undefined;
}

const manifests = new Map<string, ReturnType<typeof readManifest>>();

function manifestOf(url: string) {
  if (!manifests.has(url)) manifests.set(url, readManifest(url));
  return manifests.get(url);
}

function readManifest(url: string) {
  try {
    const { name, version }: Record<string, unknown> = JSON.parse(readFileSync(fileURLToPath(url), 'utf8'));
    return typeof name === 'string' && typeof version === 'string' ? { name, version } : undefined;
  } catch {
    return undefined;
  }
}
