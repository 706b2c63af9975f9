import type { AdoptedCategory } from '../category.ts';
import type { AdoptedModule } from '../types.ts';
import type { Listeners } from './listeners.ts';
import type { Operations } from './operations.ts';

/** Handlers of channels, by the channel's name. */
export type Handlers = Readonly<Record<string, (message: never) => void>>;

/** What a family uses while its category is wanted. */
interface Means {
  readonly category: Pick<AdoptedCategory, 'debug'>;
  readonly operations: Operations;
  readonly listeners: Listeners;
  /** Wraps a function that is called in the application's code, so that it never throws. */
  readonly guarded: (fn: () => void) => () => void;
}

/** The channels of one category. */
export interface Family {
  readonly category: string;
  readonly description: string;
  /** Whether only the end of an operation is in the context of its tenant, as that of a request which a server receives. */
  readonly endsInContext?: boolean;
  follow(means: Means): Handlers;
}

/** The channels of a library, followed once it was loaded. */
export interface LibraryFamily extends Family {
  /** A file of the package that publishes. */
  readonly module: AdoptedModule;
}
