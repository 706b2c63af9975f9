// Debug lines as text for people.

/** A stack as V8 writes it: what was thrown, then a frame in each line. */
const STACK = /\n\s*at /;
/** Attributes that instrumentations of loggers copy from the active span. */
const OF_THE_SPAN = new Set(['trace_id', 'span_id', 'trace_flags']);
const INDENTATION = '    ';

interface Line<Value> {
  readonly message: string;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly traceId?: string | undefined;
}

/**
 * A line's message and attributes, without the ids that the line shows itself, and the stacks of errors in them as lines to
 * print below. Each of these is indented, so that no text in a stack looks like another debug line.
 */
export function lineText<Value>({ message, attributes, traceId }: Line<Value>) {
  const stacks: string[] = [];
  const isCopied = traceId !== undefined && attributes.trace_id === traceId;
  const own = Object.entries(attributes).filter(([name]) => !(isCopied && OF_THE_SPAN.has(name)));
  const end = STACK.test(message) ? message.indexOf('\n') : message.length;
  if (end < message.length) stacks.push(message.slice(end + 1));
  return {
    message: message.slice(0, end),
    attributes: (withoutStacks(Object.fromEntries(own), stacks) ?? {}) as Record<string, Value>,
    below: stacks.flatMap((stack) => stack.split('\n')).map((line) => INDENTATION + line),
  };
}

/** @param stacks receives those that were left out */
function withoutStacks(value: unknown, stacks: string[]): unknown {
  if (typeof value === 'string' && STACK.test(value)) {
    stacks.push(value);
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutStacks(member, stacks)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}
