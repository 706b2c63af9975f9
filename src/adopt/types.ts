import type { Attributes, Described } from '../gate/types.ts';
import type { AdoptOptions } from '../options/adopt.ts';
import type { DiscoveredSource } from '../protocol/messages.ts';

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

/** What a source works with. */
export interface Adoption {
  /** The option `adopt`, with the settings of this source. */
  readonly options: AdoptOptions;
  /**
   * Returns the category of a logger, and registers it on first use. `undefined` if it is excluded or the limit of
   * categories is reached: the logger stays as it is.
   * @param name the logger's own name
   */
  category(name: string, about?: AboutLogger): AdoptedCategory | undefined;
  /** Reports an error in our own code, once for each source and category. Never throws. @param logger of which it is */
  failed(error: unknown, logger?: Pick<AdoptedCategory, 'name'>): void;
}

export interface AboutLogger {
  /** @default '' */
  readonly description?: string | undefined;
  /** Whether the logger writes debug lines where nobody switched its category. @default false */
  readonly enabledByDefault?: boolean | undefined;
  /** Version of the library. */
  readonly version?: string | undefined;
}

/** The category of a logger. The same name returns the same object. */
export interface AdoptedCategory {
  /** Name of the category, such as `KOA_ROUTER`. Another logger that comes later may have the better claim to it. */
  readonly name: string;
  /** Whether any call could be wanted now: one load and one bit test. */
  readonly wanted: boolean;
  /** Whether a call is wanted here and now, by an output or a tap. Ask only while {@link wanted}. */
  readonly enabled: boolean;
  /** Sends a call through our own pipeline to the outputs. */
  debug(message: string, attributes?: Attributes | (() => Attributes)): void;
  /**
   * Decides, counts and limits a line that the library writes itself. Taps get the described call, also where the category
   * is off. Never throws. Ask only while {@link wanted}.
   * @param text identifies equal lines for the budget: the message, or its format string
   * @param bytes length of the line. @default that of `text`
   * @param admitted whether the logger's own level admits the line. Where the category is not {@link decided} such a line
   * is counted, and neither limited nor dropped. @default the state of the category
   * @returns whether the library may write the line
   */
  passes(text: string, describe: () => Described, bytes?: number, admitted?: boolean): boolean;
  /** Whether any tap wants lines of the category. Only then does {@link passes} describe one. */
  readonly tapped: boolean;
  /** Whether somebody switched the category for here and now. Elsewhere the logger's own level decides. */
  readonly decided: boolean;
  /** Whether an output or a tap wants a line here and now. @param admitted whether the logger's own level admits it */
  allows(admitted: boolean): boolean;
  /** Calls back when {@link wanted} changes, and at once if it is true. Returns a function that unsubscribes. */
  onWanted(listener: (wanted: boolean) => void): () => void;
  /** Changes the state that the category has where nobody switched it. */
  setDefault(enabled: boolean): void;
}
