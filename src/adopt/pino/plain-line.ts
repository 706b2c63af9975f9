import type { Described } from '../../gate/types.ts';
import type { PinoLogger, PinoSymbols } from './logger.ts';

type Fields = Record<string, string | number | boolean>;

const NONE: Fields = Object.freeze({});

/** Fields that are no attributes of a line, or that pino writes itself. */
const OWN = new Set(['level', 'time', 'pid', 'hostname', 'err', 'error', '__proto__']);

/** Bindings of loggers as pino has serialized them, and as attributes; without if they are not plain. */
const bindings = new WeakMap<PinoLogger, { readonly text: string; readonly fields: Fields | undefined }>();

/** Whether an object of pino's settings has nothing in it that changes plain values. */
const unchanging = new WeakMap<object, boolean>();

/**
 * The line of a call with nothing but a text and flat fields, by a logger that writes them as they are: what `describeLine` returns,
 * for a fraction of its cost, with secrets in it. `undefined` for any other call.
 */
export function plainLine(
  logger: PinoLogger,
  args: readonly unknown[],
  level: number,
  symbols: PinoSymbols,
): Described | undefined {
  try {
    const [first] = args;
    const isText = typeof first === 'string';
    const message = textOf(args, isText ? 0 : 1);
    if (message === undefined || !isUnchanging(logger, level, symbols)) return undefined;
    const own = bindingsOf(logger, symbols);
    if (own === undefined || isText) return own && { message, attributes: own };
    const serializers = logger[symbols.serializers!] as object;
    const fields = flatFields(
      first,
      (name) => OWN.has(name) || name === logger[symbols.messageKey] || name in serializers,
    );
    return fields && { message, attributes: { ...own, ...fields } };
  } catch {
    return undefined;
  }
}

/** A message with at most one text inserted; `undefined` for any other. */
function textOf(args: readonly unknown[], at: number): string | undefined {
  const { [at]: message, [at + 1]: inserted } = args;
  if (typeof message !== 'string') return undefined;
  if (args.length === at + 1) return message;
  const place = message.indexOf('%');
  const isInserted = message[place + 1] === 's' && message.indexOf('%', place + 1) === -1;
  if (args.length > at + 2 || typeof inserted !== 'string' || place === -1 || !isInserted) return undefined;
  return message.slice(0, place) + inserted + message.slice(place + 2);
}

/** A copy; `undefined` for anything but a plain object of texts, finite numbers and booleans. */
function flatFields(given: unknown, isOther: (name: string) => boolean): Fields | undefined {
  if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype)
    return undefined;
  const fields = { ...given } as Fields;
  for (const name in fields) {
    const value = fields[name];
    const isFlat = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
    if (!isFlat || isOther(name)) return undefined;
  }
  return fields;
}

/** Whether mixins, hooks, formatters, serializers and redaction leave plain values as they are. */
function isUnchanging(logger: PinoLogger, level: number, { serializers, changing }: PinoSymbols): boolean {
  const { mixin, formatters, hooks, msgPrefix, nestedKeyStr, stringifiers, lsCache } = changing;
  const isKnown = mixin && formatters && hooks && nestedKeyStr && stringifiers && lsCache && serializers;
  if (!isKnown || logger[mixin] || logger[nestedKeyStr] || (msgPrefix && logger[msgPrefix])) return false;
  const labels = logger[lsCache] as Readonly<Record<number, string>>;
  return (
    labels[level]?.startsWith('{"level":') === true &&
    (logger[formatters] as { readonly log?: unknown }).log === undefined &&
    isWithout(logger[hooks] as object, (name) => typeof name === 'string') &&
    isWithout(logger[stringifiers] as object, () => true) &&
    isWithout(logger[serializers] as object, (name) => typeof name === 'symbol')
  );
}

/** Whether no property with a value has such a name. Kept: applications set these objects once. */
function isWithout(settings: object, isSuch: (name: string | symbol) => boolean): boolean {
  const known = unchanging.get(settings);
  if (known !== undefined) return known;
  const names = Reflect.ownKeys(settings).filter((name) => Reflect.get(settings, name) !== undefined);
  const is = !names.some(isSuch);
  unchanging.set(settings, is);
  return is;
}

function bindingsOf(logger: PinoLogger, { chindings, messageKey }: PinoSymbols): Fields | undefined {
  const text = logger[chindings];
  if (text === '') return NONE;
  if (typeof text !== 'string') return undefined;
  const known = bindings.get(logger);
  if (known?.text === text) return known.fields;
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(`{${text.slice(1)}}`);
  const fields = flatFields(rest, (name) => name === logger[messageKey] || name === '__proto__');
  bindings.set(logger, { text, fields });
  return fields;
}
