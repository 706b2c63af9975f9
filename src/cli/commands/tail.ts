import { MAX_TAIL_LINES, MAX_TAIL_RATE } from '../../protocol/constants.ts';
import type { TailLine } from '../../protocol/streams.ts';
import { type Command, EXIT, type Terminal } from '../command.ts';
import { accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { namesOf, parseSelection, withNearest } from '../names.ts';
import { wholeNumber } from '../numbers.ts';
import { formatOf } from '../output.ts';
import { TailNotes } from '../tail-notes.ts';
import { clockTime, duration } from '../times.ts';

const TICK_MS = 1000;

export const tail: Command = {
  summary: 'read the debug lines of categories from every process of the fleet, without switching anything',
  operands: '<name...>',
  completes: 'categories',
  options: {
    for: { type: 'string', value: '5m', help: 'how long (default: 5m)' },
    rate: {
      type: 'string',
      value: 'N',
      help: 'maximum lines per second (default: 100); more than configured needs admin',
    },
    lines: { type: 'string', value: 'N', help: 'end after N lines' },
    'also-log': { type: 'boolean', help: "write the lines to the service's own logs as well" },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    'The lines go to you alone; with --tenant those of that tenant. It ends with the time, or with Ctrl-C, in all processes.',
    'Only lines go to stdout, with -o json as one JSON object each.',
  ],
  examples: ['rdcp tail DATABASE --tenant acme --for 5m', "rdcp tail 'DB_*' -o json | jq .message"],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const lasting = duration(values, 'for');
    const limits = {
      rate: wholeNumber(values, 'rate', MAX_TAIL_RATE),
      lines: wholeNumber(values, 'lines', MAX_TAIL_LINES),
    };
    const format = formatOf(values);
    const access = accessOf(terminal, values);
    const client = clientOf(terminal, access);
    const names = await namesOf(terminal, client, selection);
    const interrupted = terminal.interruption();
    const reading = client.tail(names, {
      signal: interrupted,
      ...(lasting !== undefined && { duration: lasting }),
      ...(limits.rate !== undefined && { rate: limits.rate }),
      ...(limits.lines !== undefined && { lines: limits.lines }),
      ...(values['also-log'] === true && { log: true }),
    });
    const notes = new TailNotes({
      note: (text) => terminal.note(text),
      clock: ({ expiresAt }) => clockTime(expiresAt, terminal.now()),
      now: terminal.now,
      tenant: access.tenantId,
    });
    const ticking = setInterval(() => notes.tick(), TICK_MS);
    try {
      for await (const event of reading) {
        notes.take(event);
        if (event.event !== 'line') continue;
        if (format === 'json') terminal.out(JSON.stringify(event.data));
        else terminal.show(lineOf(terminal, event.data, format === 'wide'));
        await terminal.drained();
      }
    } catch (error) {
      if (!interrupted.aborted) throw await withNearest(client, error);
    } finally {
      clearInterval(ticking);
      const summary = notes.summary();
      if (summary !== undefined) terminal.note(summary);
    }
    return notes.endedEarly ? EXIT.refused : EXIT.done;
  },
};

/** Such as `14:05:12.345 DATABASE query done {"rows":12} acme 0f6c5b2d`. */
function lineOf(terminal: Terminal, line: TailLine, wide: boolean): string {
  const { timestamp, category, message, attributes, tenant, instance, source, traceId, spanId } = line;
  const given = Object.keys(attributes ?? {}).length > 0 ? ` ${JSON.stringify(attributes)}` : '';
  const trace = wide && traceId !== undefined ? [`trace ${traceId}`, `span ${spanId ?? '-'}`] : [];
  const origin = [tenant, wide ? instance : String(instance).slice(0, 8), wide ? source : undefined, ...trace];
  return [
    terminal.paint(`${clockTime(timestamp, terminal.now())}.${timestamp.slice(20, 23)}`, 'dim'),
    terminal.paint(category, 'cyan'),
    terminal.paint(`${message}${given}`, undefined),
    terminal.paint(origin.filter((each) => each !== undefined).join(' '), 'dim'),
  ].join(' ');
}
