/** Which debug statements of other libraries become categories. */
export interface AdoptOptions {
  /** Namespaces of the package `debug`. @default false, and true under `register` */
  readonly debug?: boolean | undefined;
  /** Loggers and child loggers of `pino`. @default false, and true under `register` */
  readonly pino?: boolean | AdoptPinoOptions | undefined;
  /** Loggers of `winston`. @default false, and true under `register` */
  readonly winston?: boolean | undefined;
  /** Contexts of NestJS loggers. @default false, and true under `register` */
  readonly nest?: boolean | undefined;
  /** Sections of `util.debuglog` that the application uses. @default false, and true under `register` */
  readonly debuglog?: boolean | undefined;
  /** Diagnostics channels of Node.js and of libraries. @default false, and true under `register` */
  readonly channels?: boolean | undefined;
  /** Records below INFO of OpenTelemetry scopes, and OpenTelemetry's diagnostics. @default false, and true under `register` */
  readonly otel?: boolean | undefined;
  /** Changes the categories that loggers become; the first rule that matches a name applies. @default [] */
  readonly map?: readonly AdoptRule[] | undefined;
}

/** Settings of the adoption of `pino`. */
export interface AdoptPinoOptions {
  /**
   * Bindings that name a logger, of which the first text counts; or a function from bindings to a name. A child without a name
   * belongs to its parent's category, a logger to `APP`.
   * @default ['name', 'module', 'component', 'logger']
   */
  readonly bindings?:
    | readonly string[]
    | ((bindings: Readonly<Record<string, unknown>>) => string | null | undefined)
    | undefined;
}

/** Renames, groups, describes or excludes the loggers whose names match. */
export interface AdoptRule {
  /** A logger's own name, such as `express:router`. In a string `*` stands for any characters. */
  readonly match: string | RegExp;
  /** Name of the category; further loggers that match get a suffix. @default made from the logger's name */
  readonly name?: string | undefined;
  /** Name of one category for all loggers that match. @default a category for each logger */
  readonly group?: string | undefined;
  /** One line for the operator, at most 1000 characters. @default '' */
  readonly description?: string | undefined;
  /** Whether the loggers stay as they are. @default false */
  readonly exclude?: boolean | undefined;
}
