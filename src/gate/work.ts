import { AsyncLocalStorage } from 'node:async_hooks';
import { type Ending, endWhenSettled } from './settling.ts';

/** Attributes of the current work, by name. Other values are ignored. */
export interface WorkAttributes {
  readonly [name: string]: string | number | boolean | undefined;
}

/** The HTTP request that a piece of work serves. */
export interface ServedRequest {
  readonly method: string;
  /** As the client sent it: the path, with the query if there is one. */
  readonly target: string;
  readonly address: string | undefined;
  /** @param name in lower case */
  header(name: string): string | undefined;
  /** The pattern of the route, once the framework has found it: `/orders/:id`. */
  readonly route: string | undefined;
}

/** A piece of work whose outcome is followed. */
export interface FollowedWork extends Ending {
  /** Marks it as failed, unless it has ended. */
  fail(error: unknown): void;
  /** Ends an HTTP request. @param status `undefined` where it was closed before its answer was written */
  answered(status: number | undefined): void;
}

/** Follows the outcomes of pieces of work. */
export interface WorkObserver {
  /** A piece of work begins. @param name where it serves no HTTP request */
  began(work: Work, name?: string): FollowedWork;
}

/** Most attributes of a piece of work. */
const MAX_ATTRIBUTES = 64;
/** Longest name and value, in characters. Longer ones are ignored. */
const MAX_LENGTH = 1024;

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

/** A piece of work: what an async context carries from the work's beginning. */
export class Work {
  readonly request: ServedRequest | undefined;
  /** True once it has ended. An async context can outlive its work, as that of a connection does. */
  ended = false;
  /** What it is, or is a part of. `undefined` while outcomes are not followed. */
  followed: FollowedWork | undefined;
  /** How often its attributes were set. */
  changes = 0;
  /** Copied before it is changed. */
  #attributes: ReadonlyMap<string, string>;

  constructor(attributes: ReadonlyMap<string, string> = NO_ATTRIBUTES, request?: ServedRequest) {
    this.#attributes = attributes;
    this.request = request;
  }

  /** As the application has set them. */
  get attributes(): ReadonlyMap<string, string> {
    return this.#attributes;
  }

  set(attributes: WorkAttributes): void {
    this.changes += 1;
    const own = new Map(this.#attributes);
    try {
      for (const [name, value] of Object.entries(attributes)) setAttribute(own, name, value);
    } catch {
      // A getter or a proxy of the application that throws must not throw into it.
    }
    this.#attributes = own;
  }
}

function setAttribute(attributes: Map<string, string>, name: string, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return;
  const text = String(value);
  if (name.length > MAX_LENGTH || text.length > MAX_LENGTH) return;
  if (attributes.size < MAX_ATTRIBUTES || attributes.has(name)) attributes.set(name, text);
}

/** The current piece of work. */
export class WorkContext {
  /** `undefined` while outcomes are not followed. */
  observer: WorkObserver | undefined;
  readonly #storage = new AsyncLocalStorage<Work>();

  current(): Work | undefined {
    const work = this.#storage.getStore();
    return work?.ended === true ? undefined : work;
  }

  /** The same, also once it has ended. */
  latest(): Work | undefined {
    return this.#storage.getStore();
  }

  /** Runs `fn` with these attributes, and those of the work around it. Without any around it, it is a piece of work. */
  run<T>(attributes: WorkAttributes, fn: () => T): T {
    const isPart = this.current() !== undefined;
    const work = this.#inner();
    work.set(attributes);
    return this.#run(work, fn, isPart ? undefined : this.observer?.began(work));
  }

  /** Runs `fn` as a piece of work that succeeds or fails by itself, with the attributes of the work around it. */
  runNamed<T>(name: string, fn: () => T): T {
    const work = this.#inner();
    return this.#run(work, fn, this.observer?.began(work, name));
  }

  #run<T>(work: Work, fn: () => T, ending: Ending | undefined): T {
    const run = () => this.#storage.run(work, fn);
    return ending === undefined ? run() : endWhenSettled(run, ending);
  }

  /** Marks the current piece of work as failed. */
  fail(error: unknown): void {
    if (this.observer !== undefined) this.current()?.followed?.fail(error);
  }

  #inner(): Work {
    const around = this.current();
    const work = new Work(around?.attributes, around?.request);
    work.followed = around?.followed;
    return work;
  }

  /** Sets attributes of the current work. Without any, the rest of this asynchronous execution is the work. */
  set(attributes: WorkAttributes): void {
    const work = this.current() ?? this.begin(new Work());
    work.set(attributes);
  }

  /** Makes the rest of this asynchronous execution a piece of work. */
  begin(work: Work): Work {
    this.#storage.enterWith(work);
    return work;
  }

  /** Runs `fn` as work of another thread. */
  runWith(attributes: ReadonlyMap<string, string> | undefined, fn: () => void): void {
    if (attributes === undefined) fn();
    else this.#storage.run(new Work(attributes), fn);
  }
}
