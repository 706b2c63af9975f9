import type { Described } from '../../gate/types.ts';

/** A method of a logger, such as `debug`. */
export type LogMethod = (this: PinoLogger, ...args: unknown[]) => unknown;

/** The parts of a pino logger that are used here. */
export interface PinoLogger {
  readonly levels: { readonly values: Readonly<Record<string, number>> };
  bindings(): Record<string, unknown>;
  [key: string | symbol]: unknown;
}

/** The prototype that all loggers of one copy of pino share. */
export type PinoPrototype = Record<string | symbol, LogMethod | undefined>;

/** pino's own symbols, which are found by their description. */
export interface PinoSymbols {
  readonly setLevel: symbol;
  readonly write: symbol;
  readonly levelVal: symbol;
  readonly stream: symbol;
  readonly chindings: symbol;
  readonly messageKey: symbol;
  readonly serializers: symbol | undefined;
  /** Absent in 8. */
  readonly levelComp: symbol | undefined;
}

export interface PinoParts {
  readonly prototype: PinoPrototype;
  readonly symbols: PinoSymbols;
}

/** Returns the prototype of pino that a logger has, and its symbols; `undefined` if it is no logger of pino 8 to 10. */
export function findPino(logger: unknown): PinoParts | undefined {
  const found = new Map<string, symbol>();
  let prototype: object | undefined;
  for (let at: unknown = logger; prototype === undefined && typeof at === 'object' && at !== null; ) {
    for (const symbol of Object.getOwnPropertySymbols(at)) {
      const { description = '' } = symbol;
      if (!found.has(description)) found.set(description, symbol);
      if (description === 'pino.setLevel') prototype = at;
    }
    at = Object.getPrototypeOf(at);
  }
  const names = ['setLevel', 'write', 'levelVal', 'stream', 'chindings', 'messageKey', 'serializers', 'levelComp'];
  const symbols = Object.fromEntries(names.map((name) => [name, found.get(`pino.${name}`)]));
  if (names.slice(0, 6).some((name) => symbols[name] === undefined)) return undefined;
  return { prototype: prototype as PinoPrototype, symbols: symbols as unknown as PinoSymbols };
}

/**
 * The line that pino would write, with its mixins, serializers and redaction, as a message and attributes. Made by pino
 * itself, into a stream of ours. `undefined` where it writes none.
 */
export function describeLine(
  logger: PinoLogger,
  args: unknown[],
  method: LogMethod,
  symbols: PinoSymbols,
): Described | undefined {
  let line = '';
  const stream = {
    write: (text: string) => {
      line += text;
    },
  };
  method.apply(Object.create(logger, { [symbols.stream]: { value: stream } }), args);
  // A `logMethod` hook writes no line for some calls.
  if (line === '') return undefined;
  const fields: unknown = JSON.parse(line);
  if (typeof fields !== 'object' || fields === null) return { message: line };
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, ...rest } = fields as Record<string, unknown>;
  const key = String(logger[symbols.messageKey]);
  const { [key]: message, ...attributes } = rest;
  return { message: typeof message === 'string' ? message : '', attributes: attributes as Record<string, string> };
}
