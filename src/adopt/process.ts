import { ArgumentRedaction } from '../calls/emit/arguments.ts';
import type { Gate } from '../gate/types.ts';
import type { AdoptOptions } from '../options/adopt.ts';
import type { DiscoveredSource } from '../wire/messages.ts';
import { createRedaction, type Redaction } from '../wire/redaction.ts';
import { messageOf } from '../wire/thrown.ts';
import { Catalogue } from './catalogue.ts';
import type { AdoptedCategory } from './category.ts';
import { CHANNELS } from './channels/channels.ts';
import { DEBUG } from './debug/debug.ts';
import { DEBUGLOG } from './debug/debuglog.ts';
import { type Patch, patchOf } from './explicit.ts';
import { type Loaded, type LoadHook, onlyRequiredMessage, watchModules } from './hook.ts';
import { NEST } from './nest/nest.ts';
import { OTEL_DIAG } from './otel/diag.ts';
import { PINO } from './pino/pino.ts';
import type {
  AboutLogger,
  AdoptedModule,
  Adoption,
  AdoptLoggerOptions,
  Source,
  SourceKind,
  SourceOption,
} from './types.ts';
import { WINSTON } from './winston/winston.ts';

/** Every source, one line each. */
export const SOURCES: readonly Source[] = [DEBUG, PINO, WINSTON, NEST, DEBUGLOG, CHANNELS, OTEL_DIAG];

/** The sources that one remote control wants adopted. */
export interface Wish {
  readonly options: AdoptOptions;
  /** Reports a problem to the service's operator. */
  readonly warn: (message: string) => void;
  /** The option `emit.redact`. @default [] */
  readonly redact?: readonly string[] | false;
  /** The option `recorder.guards`. @default true */
  readonly guards?: boolean | undefined;
  /** The option `limits.maxCategories`. @default the gate's own limit */
  readonly maxCategories?: number;
}

type LoadedCopy = Pick<Loaded, 'exports' | 'copy'>;

/** A module or logger that was given to `adopt()`. */
interface Explicit {
  readonly target: object;
  readonly patch: Patch;
  /** Category of all its loggers. @default a category for each */
  readonly group: string | undefined;
  undo: (() => void) | undefined;
}

interface Running {
  readonly undo: Set<() => void>;
  readonly adoption: Adoption;
}

export interface AdopterOptions {
  readonly gate: Pick<Gate, 'category' | 'work'>;
  /** @default every source */
  readonly sources?: readonly Source[];
  /** @default the hook of this process */
  readonly watch?: LoadHook;
}

/**
 * The adoption of a process, or of a worker thread. All remote controls share it, those of another copy of this package too:
 * a library is patched once. Everything adopted is put back when the last one that wants it leaves.
 */
export class Adopter {
  readonly #gate: Pick<Gate, 'category' | 'work'>;
  readonly #sources: readonly Source[];
  readonly #watch: LoadHook;
  readonly #wishes = new Map<Wish, Redaction>();
  /** The redactions of all wishes. */
  readonly #redaction = new ArgumentRedaction({
    hides: (name) => this.#redactions().some(({ hides }) => hides(name)),
    mask: (text) => this.#redactions().reduce((masked, { mask }) => mask(masked), text),
  });
  readonly #running = new Map<Source, Running>();
  /** Copies of libraries that were loaded, by source. */
  readonly #seen = new Map<Source, Map<unknown, LoadedCopy>>();
  /** Messages that were reported: once is enough. */
  readonly #reported = new Set<string>();
  readonly #explicit = new Set<Explicit>();
  #catalogue: Catalogue | undefined;
  #unwatch: (() => void) | undefined;

  constructor({ gate, sources = SOURCES, watch = watchModules }: AdopterOptions) {
    this.#gate = gate;
    this.#sources = sources;
    this.#watch = watch;
  }

  /** Returns a function that leaves. */
  join(given: Wish): () => void {
    const wish = { ...given };
    if (this.#wishes.size === 0) {
      this.#catalogue = new Catalogue({
        gate: this.#gate,
        rules: wish.options.map ?? [],
        warn: (message) => this.#warn(message),
        redaction: this.#redaction,
        guards: () => [...this.#wishes.keys()].some(({ guards }) => guards !== false),
        maxCategories: wish.maxCategories,
      });
    }
    this.#wishes.set(wish, createRedaction(wish.redact ?? []));
    this.#follow();
    return () => {
      if (this.#wishes.delete(wish)) this.#follow();
    };
  }

  /** Adopts a module or a logger while there is a remote control. Returns a function that puts everything back. */
  adopt(target: object, options: AdoptLoggerOptions): () => void {
    const patch = patchOf(target, options, this.#sources);
    const explicit: Explicit = { target, patch, group: options.category, undo: undefined };
    this.#explicit.add(explicit);
    this.#followExplicit();
    return () => {
      this.#explicit.delete(explicit);
      this.#undo(explicit);
    };
  }

  sourceOf(category: string): DiscoveredSource | undefined {
    return this.#catalogue?.sourceOf(category);
  }

  /** Whether a remote control is enabled. */
  get active(): boolean {
    return this.#wishes.size > 0;
  }

  /** Whether a source is switched on. */
  adopts(option: SourceOption): boolean {
    return [...this.#wishes.keys()].some(({ options }) => options[option]);
  }

  /** The category of a logger that the application itself puts under control. `undefined` as for {@link Adoption.category}. */
  category(kind: SourceKind, name: string, about?: AboutLogger): AdoptedCategory | undefined {
    return this.#catalogue?.category(kind, name, about);
  }

  #redactions(): readonly Redaction[] {
    return [...this.#wishes.values()];
  }

  /** Starts and stops sources so that those run that are wanted. */
  #follow(): void {
    const wanted = this.#sources.filter(({ option }) => this.adopts(option));
    for (const [source, { undo }] of this.#running) {
      if (wanted.includes(source)) continue;
      this.#running.delete(source);
      for (const each of [...undo].reverse()) this.#attempt(source, each);
    }
    for (const source of wanted) if (!this.#running.has(source)) this.#start(source);
    const watches = wanted.some(({ modules }) => modules !== undefined);
    if (watches && this.#unwatch === undefined) {
      const modules = this.#sources.flatMap((source) => source.modules ?? []);
      this.#unwatch = this.#watch(modules, {
        loaded: (loaded) => this.#loaded(loaded),
        unsupported: (module, version) => this.#unsupported(module, version),
        onlyRequired: () => this.#warnOnce(onlyRequiredMessage(process.versions.node)),
        failed: (error) => this.#warn(`adopt: modules cannot be watched (${messageOf(error)})`),
      });
    } else if (!watches) {
      this.#unwatch?.();
      this.#unwatch = undefined;
    }
    this.#followExplicit();
  }

  /** @param group category of all loggers. @default a category for each */
  #adoptionOf({ kind, option }: Pick<Source, 'kind' | 'option'>, group?: string): Adoption {
    return {
      options: [...this.#wishes.keys()].find(({ options }) => options[option])?.options ?? {},
      category: (name, about) => this.#catalogue?.category(kind, name, about, group),
      workFailed: (error) => this.#gate.work.fail(error),
      failed: (error, logger) => this.#failed({ kind }, error, logger),
      attempt: (work, logger) => this.#attempt({ kind }, work, logger),
    };
  }

  /** Whether the hook has found a module, and its source runs. */
  #isPatched(exports: unknown): boolean {
    return [...this.#seen].some(([source, copies]) => copies.has(exports) && this.#running.has(source));
  }

  /** Adopts what was given to `adopt()` while there is a remote control. */
  #followExplicit(): void {
    for (const explicit of this.#explicit) {
      if (this.#wishes.size === 0) this.#undo(explicit);
      else if (explicit.undo === undefined) {
        const { target, patch, group } = explicit;
        if (this.#isPatched(target)) continue;
        const adopt = () => patch((source) => this.#adoptionOf(source, group));
        explicit.undo = this.#attempt({ kind: 'custom' }, adopt);
      }
    }
  }

  #undo(explicit: Explicit): void {
    const { undo } = explicit;
    explicit.undo = undefined;
    if (undo !== undefined) this.#attempt({ kind: 'custom' }, undo);
  }

  #start(source: Source): void {
    const adoption = this.#adoptionOf(source);
    const running: Running = { undo: new Set(), adoption };
    this.#running.set(source, running);
    const undo = this.#attempt(source, () => source.start?.(adoption));
    if (undo !== undefined) running.undo.add(undo);
    for (const { exports, copy } of this.#seen.get(source)?.values() ?? []) {
      this.#patch(source, running, { exports, copy: { ...copy, loadedBefore: true } });
    }
  }

  #loaded({ module, exports, copy }: Loaded): void {
    for (const source of this.#sources) {
      if (source.modules?.includes(module) !== true) continue;
      const copies = this.#seen.get(source) ?? new Map<unknown, LoadedCopy>();
      this.#seen.set(source, copies);
      if (copies.has(exports) || [...this.#explicit].some(({ target }) => target === exports)) continue;
      const seen = { exports, copy };
      copies.set(exports, seen);
      const running = this.#running.get(source);
      if (running !== undefined) this.#patch(source, running, seen);
    }
  }

  #patch(source: Source, { undo, adoption }: Running, { exports, copy }: LoadedCopy): void {
    const back = this.#attempt(source, () => source.adopt?.(exports, copy, adoption));
    if (back !== undefined) undo.add(back);
  }

  #attempt<T>(source: Pick<Source, 'kind'>, work: () => T, logger?: Pick<AdoptedCategory, 'name'>): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#failed(source, error, logger);
      return undefined;
    }
  }

  #failed({ kind }: Pick<Source, 'kind'>, error: unknown, logger?: Pick<AdoptedCategory, 'name'>): void {
    const what = logger === undefined ? 'a logger' : `the logger of ${logger.name}`;
    this.#warnOnce(`adopt: ${kind} failed while ${what} was adopted or wrote a line`, ` (${messageOf(error)})`);
  }

  /** Channels that a version of a library lacks are no problem of the service. */
  #unsupported({ name }: AdoptedModule, version: string): void {
    const source = this.#sources.find(({ modules = [] }) => modules.some((each) => each.name === name));
    if (source === undefined || source.kind === 'channel' || !this.adopts(source.option)) return;
    const { modules = [] } = source;
    const ranges = new Set(modules.filter((each) => each.name === name).map(({ versions }) => versions));
    this.#warnOnce(
      `adopt: ${name} ${version} is not supported and stays as it is (supported: ${[...ranges].join(', ')})`,
    );
  }

  #warnOnce(message: string, details = ''): void {
    if (this.#reported.has(message)) return;
    this.#reported.add(message);
    this.#warn(message + details);
  }

  #warn(message: string): void {
    const [wish] = this.#wishes.keys();
    wish?.warn(message);
  }
}

// Its version changes with the interface.
const REGISTRY_KEY = Symbol.for('opentelemetry-instrumentation-rdcp.adoption.v1');

/** The adoption of this process. */
export function processAdoption(gate: Pick<Gate, 'category' | 'work'>): Adopter {
  const existing: Adopter | undefined = Reflect.get(globalThis, REGISTRY_KEY);
  if (existing !== undefined) return existing;
  const created = new Adopter({ gate });
  Object.defineProperty(globalThis, REGISTRY_KEY, { value: created });
  return created;
}
