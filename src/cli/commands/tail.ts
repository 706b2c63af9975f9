import { MAX_TAIL_LINES, MAX_TAIL_RATE } from '../../protocol/constants.ts';
import type { TailEvent, TailLine } from '../../protocol/streams.ts';
import { type Command, EXIT, type Terminal } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { namesOf, parseSelection, withNearest } from '../names.ts';
import { wholeNumber } from '../numbers.ts';
import { formatOf } from '../output.ts';
import { UNKNOWN_TENANT } from '../tenant.ts';
import { clockTime, duration } from '../times.ts';

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
    const client = connect(terminal, values);
    const names = await namesOf(terminal, client, selection);
    const interrupted = terminal.interruption();
    const reading = client.tail(names, {
      signal: interrupted,
      ...(lasting !== undefined && { duration: lasting }),
      ...(limits.rate !== undefined && { rate: limits.rate }),
      ...(limits.lines !== undefined && { lines: limits.lines }),
      ...(values['also-log'] === true && { log: true }),
    });
    const seen = new Seen();
    try {
      for await (const event of reading) {
        seen.take(event);
        if (event.event === 'line') {
          if (format === 'json') terminal.out(JSON.stringify(event.data));
          else terminal.show(lineOf(terminal, event.data, format === 'wide'));
          await terminal.drained();
        } else note(terminal, event);
      }
    } catch (error) {
      if (!interrupted.aborted) throw await withNearest(client, error);
    } finally {
      if (seen.opened) terminal.note(seen.summary());
    }
    return seen.endedEarly ? EXIT.refused : EXIT.done;
  },
};

/** What came so far. The server counts as well, and is not heard any more after Ctrl-C. */
class Seen {
  opened = false;
  endedEarly = false;
  #lines = 0;
  #dropped = 0;
  readonly #instances = new Set<string>();

  take({ event, data }: TailEvent): void {
    this.opened = true;
    if (event === 'line') {
      this.#lines += 1;
      this.#instances.add(data.instance);
    } else if (event === 'dropped') this.#dropped += data.count;
    else if (event === 'end') {
      this.#dropped = Math.max(this.#dropped, data.dropped);
      this.endedEarly = data.reason === 'revoked' || data.reason === 'shutdown';
    }
  }

  summary(): string {
    const { size } = this.#instances;
    const lines = this.#lines === 1 ? '1 line' : `${this.#lines} lines`;
    return `${lines} from ${size} ${size === 1 ? 'process' : 'processes'}, ${this.#dropped} dropped.`;
  }
}

const ENDS: Readonly<Record<string, string>> = {
  expired: 'The time is over.',
  budget: 'All lines asked for are here.',
  revoked: 'The credential has expired or was revoked.',
  shutdown: 'The service shuts down.',
};

function note(terminal: Terminal, { event, data }: Exclude<TailEvent, { event: 'line' }>): void {
  if (event === 'open') {
    const processes = data.instances === 1 ? '1 process' : `${data.instances} processes`;
    const until = clockTime(data.expiresAt, terminal.now());
    terminal.note(`Tailing ${data.categories.join(', ')} in ${processes} until ${until}; Ctrl-C ends it.`);
    if (data.tenantKnown === false) terminal.note(UNKNOWN_TENANT);
  } else if (event === 'dropped') terminal.note(`${data.count} lines were dropped.`);
  else if (event === 'instance') terminal.note(`Process ${data.id} ${data.state}.`);
  else if (event === 'end') terminal.note(ENDS[data.reason] ?? `Ended: ${data.reason}.`);
}

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
