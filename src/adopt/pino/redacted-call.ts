import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import { isError } from '../../wire/thrown.ts';
import type { AdoptedCategory } from '../category.ts';
import type { PinoLogger, PinoSymbols } from './logger.ts';

type Serializer = (this: unknown, value: unknown) => unknown;
type Serializers = Readonly<Record<string | symbol, Serializer>>;

/** A logger and the arguments of a call. */
export type Call = readonly [logger: PinoLogger, args: unknown[]];

/** Fields with a serializer of the application are redacted behind it: it may expect more than plain data. */
const redacted = new WeakMap<Serializers, Serializers>();

/** Bindings as pino has serialized them, and the same with secrets masked. */
const bindings = new WeakMap<PinoLogger, { readonly text: string; readonly shown: string }>();

/**
 * The arguments of a call whose line is described: those that pino formats into the text with secrets masked. In fields, and in a
 * text alone, they are masked when the line leaves the process.
 */
export function redactedTexts(args: readonly unknown[], redaction: ArgumentRedaction): unknown[] {
  const [first, ...rest] = args;
  if (typeof first !== 'object' || first === null) return rest.length === 0 ? [first] : redaction.formatted(args);
  return rest.length < 2 ? [first, ...rest] : [first, ...redaction.formatted([null, ...rest]).slice(1)];
}

/** A call with secrets masked, in place of one of the application: its arguments, and the bindings of the logger. */
export function redactedCall(
  logger: PinoLogger,
  args: unknown[],
  { redaction }: AdoptedCategory,
  symbols: PinoSymbols,
): Call {
  const redactedLogger = withRedactedBindings(logger, redaction, symbols.chindings);
  const [first] = args;
  if (typeof first !== 'object' || first === null) return [redactedLogger, redaction.formatted(args)];
  const serializers = (symbols.serializers && logger[symbols.serializers]) as Serializers | undefined;
  const fields = isError(first) ? redaction.value(first) : redaction.fields(first, serializers);
  const others = redaction.formatted([null, ...args.slice(1)]).slice(1);
  const shown = [fields, ...others];
  if (serializers === undefined || symbols.serializers === undefined) return [redactedLogger, shown];
  const value = redacted.get(serializers) ?? redactedSerializers(serializers, redaction);
  redacted.set(serializers, value);
  return [Object.create(redactedLogger, { [symbols.serializers]: { value } }), shown];
}

function withRedactedBindings(logger: PinoLogger, redaction: ArgumentRedaction, chindings: symbol): PinoLogger {
  const text = logger[chindings];
  if (typeof text !== 'string' || text === '') return logger;
  const known = bindings.get(logger);
  const made = known?.text === text ? known : { text, shown: redactedBindings(text, redaction) };
  if (made !== known) bindings.set(logger, made);
  return made.shown === text ? logger : Object.create(logger, { [chindings]: { value: made.shown } });
}

/** @param text such as `,"pid":1,"name":"shop"` */
function redactedBindings(text: string, redaction: ArgumentRedaction): string {
  try {
    const fields = JSON.parse(`{${text.slice(1)}}`);
    const shown = redaction.fields(fields);
    return shown === fields ? text : `,${JSON.stringify(shown).slice(1, -1)}`;
  } catch {
    // A formatter of the application has made something else.
    return text;
  }
}

function redactedSerializers(serializers: Serializers, redaction: ArgumentRedaction): Serializers {
  const made: Record<string | symbol, Serializer> = Object.create(null);
  for (const name of Reflect.ownKeys(serializers)) {
    const serializer = serializers[name]!;
    made[name] =
      typeof serializer === 'function' && typeof name === 'string'
        ? function (value) {
            const holder = redaction.fields({ [name]: serializer.call(this, value) });
            return holder[name];
          }
        : serializer;
  }
  return made;
}
