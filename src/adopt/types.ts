import type { AdoptOptions } from '../options/adopt.ts';
import type { DiscoveredSource } from '../wire/messages.ts';
import type { AdoptedCategory } from './category.ts';

/** Where an adopted category comes from. */
export type SourceKind = DiscoveredSource['kind'];

/** The options that switch sources on. */
export type SourceOption = Exclude<keyof AdoptOptions, 'map'>;

/** A file of a package that is handed over once it has run. */
export interface AdoptedModule {
  /** Name in the package's own package.json: the folder may have another. */
  readonly name: string;
  /** Range of versions, such as `>=2.6.9 <5`. */
  readonly versions: string;
  /** Below the package's folder, such as `src/index.js`. */
  readonly file: string;
  /** Whether the file is an ECMAScript module. @default false, it is CommonJS */
  readonly esm?: true;
  /** Changes the source before it runs; such a file is not handed over. Only the synchronous hooks of Node.js can do it. */
  readonly edit?: (source: string) => string;
}

/** One copy of a library in the process. */
export interface LibraryCopy {
  readonly name: string;
  readonly version: string;
  /** URL of the file that was loaded. */
  readonly url: string;
  /** Whether it was loaded before adoption started, so that loggers may exist. */
  readonly loadedBefore: boolean;
}

/** One library or API whose debug statements become categories. */
export interface Source {
  readonly kind: SourceKind;
  /** The option that switches this source on. */
  readonly option: SourceOption;
  readonly modules?: readonly AdoptedModule[];
  /**
   * Patches a copy of a library. Called once for each copy, when it was loaded or when adoption starts. Returns a function
   * that puts everything back, or `undefined` if the copy stays as it was.
   */
  adopt?(exports: unknown, copy: LibraryCopy, adoption: Adoption): (() => void) | undefined;
  /** Whether a value is what a package of this source exports. @default no value is */
  recognizes?(exports: unknown): boolean;
  /** Whether a value is a logger of this source. @default no value is */
  isLogger?(logger: object): boolean;
  /** Patches a single logger. Returns a function that puts everything back, or `undefined` if it stays as it was. */
  adoptLogger?(logger: object, options: AdoptLoggerOptions, adoption: Adoption): (() => void) | undefined;
  /** Starts a source without a package. Returns a function that puts everything back. */
  start?(adoption: Adoption): () => void;
}

/** Options of `adopt()`. */
export interface AdoptLoggerOptions {
  /**
   * Category of the logger, or of all loggers of a module.
   * @default made from each logger's own name
   */
  readonly category?: string | undefined;
  /**
   * Level of the logger while its category is on, in the words of its library.
   * @default 'debug'
   */
  readonly level?: string | number | undefined;
}

/** The means of a source. */
export interface Adoption {
  /** The option `adopt`, with the settings of this source. */
  readonly options: AdoptOptions;
  /**
   * Returns the category of a logger, and registers it on first use: that of its parent where its name looks like data, or
   * where the limit of categories is reached. `undefined` if it is excluded, or there is no such parent: the logger stays as
   * it is.
   * @param name the logger's own name
   */
  category(name: string, about?: AboutLogger): AdoptedCategory | undefined;
  /** Marks the current piece of work as failed: a logger writes a line of ERROR or above. */
  workFailed(error: unknown): void;
  /** Reports an error in our own code, once for each source and category. Never throws. @param logger of which it is */
  failed(error: unknown, logger?: Pick<AdoptedCategory, 'name'>): void;
  /** Runs work of ours inside a call of the application, which must not notice an error of it. @returns `undefined` if it failed */
  attempt<T>(work: () => T, logger?: Pick<AdoptedCategory, 'name'>): T | undefined;
}

export interface AboutLogger {
  /** @default '' */
  readonly description?: string | undefined;
  /** Whether the logger writes debug lines while its category is not switched. @default false */
  readonly enabledByDefault?: boolean | undefined;
  /** Version of the library. */
  readonly version?: string | undefined;
  /**
   * The category of the logger that this one is a child of: it belongs there where its name looks like data.
   * @default that of the part of the name before the first colon, or `APP`
   */
  readonly parent?: AdoptedCategory | undefined;
}
