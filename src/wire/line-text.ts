import type { TailLine } from './streams.ts';

// Debug lines as text for people.

/** A stack as V8 writes it: what was thrown, then a frame in each line. */
const STACK = /\n\s*at /;
/** Attributes that instrumentations of loggers copy from the active span. */
const OF_THE_SPAN = new Set(['trace_id', 'span_id', 'trace_flags']);
const INDENTATION = '    ';

/** The work that a line was recorded for. */
export interface RecordedWork {
  /** The same for all lines of the work. */
  readonly id: string;
  readonly outcome: string;
  /** Earlier lines of it that had no room. */
  readonly cut?: number;
}

/** A line without what it says about its work, and that work; absent for a line that was written at once. */
export function recordedOf(received: TailLine): { readonly line: TailLine; readonly work?: RecordedWork } {
  // Another implementation may leave the attributes out.
  if (received.attributes === undefined) return { line: { ...received, attributes: {} } };
  if (received.recorded !== true && received.attributes['rdcp.recorded'] !== true) return { line: received };
  const {
    'rdcp.recorded': wasWritten,
    'rdcp.work.id': id = '',
    'rdcp.work.outcome': outcome = '',
    'rdcp.recorder.cut': cut,
    ...attributes
  } = received.attributes;
  // Of lines that are read later, only those tell of their work that are not all of it.
  if (wasWritten !== true && cut === undefined) return { line: { ...received, attributes } };
  const work = { id: `${received.instance} ${id}`, outcome: String(outcome), ...(typeof cut === 'number' && { cut }) };
  return { line: { ...received, attributes }, work };
}

/** Attributes on one line, in quotes where they could be taken for more than one: `rows=12 sql="select 1"`. */
export function attributesText(attributes: TailLine['attributes']): string {
  const isPlain = (value: unknown) => typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${isPlain(value) ? value : JSON.stringify(value)}`)
    .join(' ');
}

interface Line<Value> {
  readonly message: string;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly traceId?: string | undefined;
}

/** Without the ids that the line shows itself. Stacks of errors are lines to print below, indented: none looks like another debug line. */
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
