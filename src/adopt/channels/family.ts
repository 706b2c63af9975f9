import type { AdoptedCategory } from '../category.ts';
import type { AdoptedModule } from '../types.ts';

/** The channels of one category. */
export interface Family {
  readonly category: string;
  readonly description: string;
  /**
   * Returns handlers for as long as the category is wanted.
   * @param guarded wraps a function that is called in the application's code, so that it never throws
   */
  follow(category: Pick<AdoptedCategory, 'debug'>, guarded: (fn: () => void) => () => void): Followed;
}

/** The channels of a library, followed once it was loaded. */
export interface LibraryFamily extends Family {
  /** A file of the package that publishes. */
  readonly module: AdoptedModule;
}

export interface Followed {
  /** The key is the name of the channel. */
  readonly handlers: Readonly<Record<string, (message: never) => void>>;
  /** Called when the category is no longer wanted. @default nothing */
  stop?(): void;
}
