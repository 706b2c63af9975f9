import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import type { OwnLine } from '../../gate/types.ts';
import { redactedTexts } from './redacted-call.ts';

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
  readonly time: symbol;
  readonly mixin: symbol;
  readonly hooks: symbol;
  readonly formatters: symbol;
  /** Absent in 8. */
  readonly levelComp: symbol | undefined;
}

export interface PinoParts {
  readonly prototype: PinoPrototype;
  readonly symbols: PinoSymbols;
}

const NEEDED = [
  ...['setLevel', 'write', 'levelVal', 'stream', 'chindings', 'messageKey'],
  ...['time', 'mixin', 'hooks', 'formatters'],
];
const OPTIONAL = ['serializers', 'levelComp'];

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
  const symbols = Object.fromEntries([...NEEDED, ...OPTIONAL].map((name) => [name, found.get(`pino.${name}`)]));
  if (NEEDED.some((name) => symbols[name] === undefined)) return undefined;
  return { prototype: prototype as PinoPrototype, symbols: symbols as unknown as PinoSymbols };
}

/** Functions that make the field of a line's time, and whether it is one that {@link describer} leaves out. */
const leftOut = new WeakMap<() => string, boolean>();

/** Whether a line depends on nothing but its arguments: not on functions of the application that may ask for the request. */
export function isTimeless(logger: PinoLogger, { mixin, hooks, formatters, time }: PinoSymbols): boolean {
  const { logMethod, streamWrite } = logger[hooks] as Record<string, unknown>;
  if (logger[mixin] || logMethod || streamWrite || (logger[formatters] as { log?: unknown }).log) return false;
  const field = logger[time] as () => string;
  let isLeftOut = leftOut.get(field);
  if (isLeftOut === undefined) {
    isLeftOut = /^(?:$|,"time":)/.test(field());
    leftOut.set(field, isLeftOut);
  }
  return isLeftOut;
}

/**
 * Returns what describes a line of a logger, as its bindings are now: the line that pino would write, with its mixins, serializers and
 * redaction, as a message and attributes. Made by pino itself, into a stream of ours. `undefined` where it writes none.
 */
export function describer(
  logger: PinoLogger,
  method: LogMethod,
  symbols: PinoSymbols,
  redaction: ArgumentRedaction,
): OwnLine['describe'] {
  const bindings = logger[symbols.chindings];
  return (given) => {
    let line = '';
    const stream = {
      write: (text: string) => {
        line += text;
      },
    };
    const own = { [symbols.stream]: { value: stream }, [symbols.chindings]: { value: bindings } };
    method.apply(Object.create(logger, own), redactedTexts(given, redaction));
    // A `logMethod` hook writes no line for some calls.
    if (line === '') return undefined;
    const fields: unknown = JSON.parse(line);
    if (typeof fields !== 'object' || fields === null) return { message: line };
    const { level: _level, time: _time, pid: _pid, hostname: _hostname, ...rest } = fields as Record<string, unknown>;
    const key = String(logger[symbols.messageKey]);
    const { [key]: message, ...attributes } = rest;
    return { message: typeof message === 'string' ? message : '', attributes: attributes as Record<string, string> };
  };
}
