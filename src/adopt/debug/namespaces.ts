import { isOwnLoading, isOwnWork } from '../../otel/own-work.ts';
import { timers } from '../../wire/time/timers.ts';
import type { AdoptedCategory } from '../category.ts';
import type { Adoption, LibraryCopy } from '../types.ts';
import type { DebugExports, DebugInstance } from './exports.ts';

/** Namespaces of libraries that come with instrumentations such as this one, which the application did not choose. */
const NOT_OF_APPLICATIONS: ReadonlySet<string> = new Set(['require-in-the-middle']);

/** Most namespaces that are followed. Earlier ones that were made from data are released. */
const MAX_NAMESPACES = 4096;

/** Time in milliseconds after which a call shows whether the application uses a library that our own endpoint has used. */
const ASK_AGAIN_AFTER = 1000;

/** An instance whose `enabled` is a plain property. */
interface Plain {
  readonly instance: WeakRef<DebugInstance>;
  /** The value when it was made, without adoption. */
  readonly before: boolean;
  /** The value that was set last. Another one is the application's, and stays. */
  set: boolean;
}

export interface Namespace {
  readonly category: AdoptedCategory;
  /** Whether `DEBUG` or `enable()` has it on. */
  native: boolean;
  /** Whether its instances are on. */
  isOn: boolean;
  readonly plain: Set<Plain>;
  stop: () => void;
}

/** Instances of an earlier adoption, of copies that keep no list of their own. */
const unlisted = new WeakMap<DebugExports, readonly Plain[]>();

/** How often instances were made to ask again: one that has not asked since an earlier adoption keeps what it knew then. */
let variants = 0;

/** Separators mean nothing in the list of namespaces, so each number is another string of the same meaning. */
function separators(number: number): string {
  return number.toString(2).replaceAll('0', ' ').replaceAll('1', ',');
}

/**
 * The namespaces of one copy of `debug`: which are on, and how their instances learn of it. In 2.6.9 and 3.2.7 an instance has
 * a plain property, set when it is made (and by `enable()` in 3.2.7); since 4.3.4 it asks again when `createDebug.namespaces` is
 * another string than before. `createDebug.enable()` is never called: it writes `process.env.DEBUG`, which children inherit.
 */
export class Namespaces {
  readonly #exports: DebugExports;
  readonly #isNative: (namespace: string) => boolean;
  readonly #copy: LibraryCopy;
  readonly #adoption: Adoption;
  readonly #known = new Map<string, Namespace>();
  /** Namespaces that only our own endpoint has used, such as Koa's: they are not the application's. */
  readonly #ofEndpoint = new Set<string>();
  readonly #collected = new FinalizationRegistry<() => void>((forget) => forget());
  #hasReadEnvironment = false;
  #askAgain: NodeJS.Timeout | undefined;
  #hasLetGo = false;
  /** Whether a namespace may have lost its last instance: only then is it worth to look for some to let go. */
  #mayLetGo = true;
  /** Whether instances keep the answer for a string of namespaces. */
  readonly #caches: boolean;
  /** The application's string of namespaces, and ours that means the same. */
  #given: unknown;
  #variant: unknown;

  constructor(exports: DebugExports, copy: LibraryCopy, adoption: Adoption) {
    this.#exports = exports;
    const { enabled } = exports;
    this.#isNative = (namespace) => Boolean(enabled.call(exports, namespace));
    this.#copy = copy;
    this.#adoption = adoption;
    this.#caches = 'namespaces' in exports;
    this.#given = exports.namespaces;
    this.#variant = this.#given;
  }

  start(): void {
    this.#invalidate();
    for (const instance of this.#exports.instances ?? []) this.track(instance);
    for (const { instance, before } of unlisted.get(this.#exports) ?? []) {
      const made = instance.deref();
      if (made !== undefined) this.track(made, before);
    }
    unlisted.delete(this.#exports);
  }

  /** Call it once `enabled` is debug's own again. */
  stop(): void {
    const { instances } = this.#exports;
    timers.clearTimeout(this.#askAgain);
    for (const [name, { stop, plain }] of this.#known) {
      stop();
      for (const each of plain) setPlain(each, instances === undefined ? each.before : this.#isNative(name));
    }
    if (this.#caches && this.#exports.namespaces === this.#variant) this.#exports.namespaces = this.#given;
    const all = [...this.#known.values()].flatMap(({ plain }) => [...plain]);
    if (instances === undefined) unlisted.set(this.#exports, all);
  }

  of({ namespace }: DebugInstance): Namespace | undefined {
    return this.#known.get(namespace);
  }

  /** Whether a namespace is on, for an instance that asks. */
  isOn(name: string): boolean {
    const native = this.#isNative(name);
    if (this.#caches && this.#exports.namespaces !== this.#variant) {
      // `enable()` was called by a name that is not ours. What an instance keeps for its string must be the native answer.
      this.#invalidate();
      this.#update(name, native);
      return native;
    }
    if (this.#ofEndpoint.has(name)) {
      if (!native && (isOwnLoading() || isOwnWork())) {
        this.#askLater();
        return native;
      }
      this.#ofEndpoint.delete(name);
      this.#adoption.attempt(() => this.#follow(name, native));
    }
    const state = this.#update(name, native);
    state?.category.called();
    return state === undefined ? native : state.isOn;
  }

  /** Called when `enable()` or `disable()` has run. Instances ask for the new string next, so it must be ours before they do. */
  changed(): void {
    if (!this.#caches) return;
    this.#invalidate();
    for (const name of this.#known.keys()) this.#update(name, this.#isNative(name));
  }

  /** Follows an instance. @param before whether it was on without adoption. @default what `debug` says of its namespace */
  track(instance: DebugInstance, before?: boolean): void {
    this.#adoption.attempt(() => this.#track(instance, before));
  }

  #track(instance: DebugInstance, before?: boolean): void {
    const { namespace } = instance;
    if (typeof namespace !== 'string') return;
    if (!isOwnLoading() && !NOT_OF_APPLICATIONS.has(namespace)) this.#readEnvironment();
    const native = this.#isNative(namespace);
    const isOfEndpoint = this.#caches && !native && isOwnLoading() && !this.#known.has(namespace);
    if (isOfEndpoint) this.#ofEndpoint.add(namespace);
    else this.#ofEndpoint.delete(namespace);
    const state = this.#follow(namespace, native);
    const property = Object.getOwnPropertyDescriptor(instance, 'enabled');
    if (state === undefined || property?.writable !== true) return;
    const plain: Plain = { instance: new WeakRef(instance), before: before ?? native, set: instance.enabled };
    state.plain.add(plain);
    this.#collected.register(instance, () => {
      state.plain.delete(plain);
      this.#mayLetGo = true;
    });
    setPlain(plain, state.isOn);
  }

  /**
   * `debug` reads `DEBUG` as it is loaded. We load 4.x ourselves, before the application sets the variable as from a file `.env`
   * and makes its first instance.
   */
  #readEnvironment(): void {
    if (this.#hasReadEnvironment || !this.#caches) return;
    this.#hasReadEnvironment = true;
    const { namespaces, load } = this.#exports;
    const given = namespaces === this.#variant ? this.#given : namespaces;
    const wanted = load?.();
    if (wanted && !given) this.#exports.enable(wanted);
  }

  /** Makes instances of 4.3.4 and later ask again. */
  #invalidate(): void {
    if (!this.#caches) return;
    if (this.#exports.namespaces !== this.#variant) this.#given = this.#exports.namespaces;
    variants += 1;
    this.#variant = `${typeof this.#given === 'string' ? this.#given : ''}${separators(variants)}`;
    this.#exports.namespaces = this.#variant;
  }

  /** Instances keep the answer. Those of the endpoint's libraries are made to ask again: it may be the application's call then. */
  #askLater(): void {
    this.#askAgain ??= timers
      .setTimeout(() => {
        this.#askAgain = undefined;
        this.#invalidate();
      }, ASK_AGAIN_AFTER)
      .unref();
  }

  /** Follows the native state of a namespace, which is the default of its category. */
  #update(name: string, native: boolean): Namespace | undefined {
    // Instances that were made before, and namespaces that were let go, are noticed when they ask.
    const isNew = this.#copy.loadedBefore || this.#hasLetGo;
    const state =
      this.#known.get(name) ?? (isNew ? this.#adoption.attempt(() => this.#follow(name, native)) : undefined);
    if (state !== undefined && state.native !== native) {
      state.native = native;
      state.category.setDefault(native);
    }
    return state;
  }

  /** Returns a namespace's state, and makes it a category on first use. */
  #follow(name: string, native: boolean): Namespace | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (NOT_OF_APPLICATIONS.has(name) || this.#ofEndpoint.has(name)) return undefined;
    if (this.#known.size >= MAX_NAMESPACES && (this.#caches || this.#mayLetGo)) this.#letGo();
    if (this.#known.size >= MAX_NAMESPACES) return undefined;
    const category = this.#adoption.category(name, { enabledByDefault: native, version: this.#copy.version });
    if (category === undefined) return undefined;
    const state: Namespace = { category, native, isOn: category.opensGuards, plain: new Set(), stop: () => {} };
    state.stop = category.onWanted(() => this.#switched(state));
    this.#known.set(name, state);
    return state;
  }

  #switched(state: Namespace): void {
    const { opensGuards } = state.category;
    if (state.isOn === opensGuards) return;
    state.isOn = opensGuards;
    for (const plain of state.plain) setPlain(plain, opensGuards);
    this.#invalidate();
  }

  /**
   * Forgets namespaces in the category of another one, as those made from data are: they are followed again once they are asked
   * for, and the other one makes them ask. Those with instances that do not ask stay.
   */
  #letGo(): void {
    this.#mayLetGo = false;
    const categories = new Set<AdoptedCategory>();
    for (const [name, { category, plain, stop }] of this.#known) {
      if (!categories.has(category)) categories.add(category);
      else if (plain.size === 0) {
        stop();
        this.#known.delete(name);
        this.#hasLetGo = true;
      }
    }
  }
}

function setPlain(plain: Plain, enabled: boolean): void {
  const instance = plain.instance.deref();
  if (instance === undefined || instance.enabled !== plain.set) return;
  instance.enabled = enabled;
  plain.set = enabled;
}
