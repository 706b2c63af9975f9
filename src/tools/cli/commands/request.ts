import { createHash } from 'node:crypto';
import { TICKET_ATTRIBUTE } from '../../../wire/constants.ts';
import { given } from '../../../wire/json-text.ts';
import type { ControlResponse, RequestTicket } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import type { RdcpClient } from '../../client/client.ts';
import { FIELDS, type FieldName } from '../../client/fields.ts';
import { type Command, EXIT, lists, type Terminal, text, UsageError, type Values } from '../command.ts';
import { accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { askEach, conclude } from '../each-service.ts';
import { TraceGroups } from '../line-order.ts';
import { localClock } from '../local-time.ts';
import { categoryNames, parseSelection, resolve, type Selection, selected, suggesting } from '../names.ts';
import { duration, OUTPUT_OPTIONS, present } from '../options.ts';
import { processNames } from '../process-names.ts';
import { readLines, type Source, type StartTail } from '../read-lines.ts';
import { filledOf, INSTANCE_OPTIONS } from '../selection-options.ts';
import { chosenServices, SERVICE_OPTIONS, type Service } from '../services.ts';
import { linesRequestOf } from './tail.ts';

const USUAL = '15m';

export const request: Command = {
  summary: 'switch categories on for the requests that carry a ticket, and show the header to send',
  operands: '<name...>',
  completes: 'categories',
  options: {
    for: { value: '10m', help: `how long the ticket is valid (default: ${USUAL}); if signed, at most 1h` },
    reason: { value: 'TEXT', help: 'reason, for the audit trail' },
    tail: { help: 'then read the lines of these requests, trace by trace, each with its service' },
    also: {
      value: 'SERVICE',
      repeats: true,
      completes: 'profiles',
      help: 'with --tail: read another service too, which does not share the store: a profile, or an address',
    },
    ...INSTANCE_OPTIONS,
    ...OUTPUT_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...SERVICE_OPTIONS,
  },
  notes: [
    'Send the printed header with a request: the categories are on only for it, in every service that passes it on with its',
    'baggage; those without the same store must trust the issuer (security.tickets). The header is a credential until it ends:',
    "with its time, with --tail at Ctrl-C, or by 'rdcp end'; services without the store accept it for its whole time. Of",
    'several services (-s) the one that has most of the categories makes the ticket.',
  ],
  examples: [
    'rdcp request DATABASE HTTP_CLIENT --for 10m',
    'rdcp request DATABASE --tail',
    'rdcp request DATABASE --tail -s @checkout',
    'rdcp request DATABASE --tail --also billing --also https://stock.internal:9465',
  ],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const lasting = duration(values, 'for') ?? USUAL;
    const { target: processes } = filledOf(values, Object.keys(FIELDS.processes) as FieldName[]);
    if (values.tail === true && (values.one === true || values.percent !== undefined)) {
      throw new UsageError(
        '--tail cannot be combined with --one or --percent, which would choose other processes for it',
      );
    }
    const others = lists(values, 'also');
    if (others.length > 0 && values.tail !== true)
      throw new UsageError('--also is for --tail: it names services to read');
    if (others.length > 0 && processes !== undefined) {
      throw new UsageError('--also cannot be combined with --instance or --version, which are about the first service');
    }
    const chosen = await chosenServices(terminal, values);
    const several = 'each' in chosen;
    if (several && values.tail !== true) {
      throw new UsageError('a request has one ticket: name one service, or add --tail to read the lines of several');
    }
    if (several && (others.length > 0 || processes !== undefined)) {
      throw new UsageError('several services cannot be combined with --also, --instance or --version');
    }
    const reading = several
      ? await readable(terminal, chosen.each, selection)
      : await withOthers(terminal, chosen.only, selection, others);
    const { access, names } = reading.first;
    const client = clientOf(terminal, access);
    const options = {
      duration: lasting,
      otelrdcp_target: { request: true as const, ...processes },
      ...given({ reason: text(values, 'reason') }),
    };
    const answer = await suggesting(client, () => client.control({ action: 'enable', categories: names, options }));
    const ticket = answer.otelrdcp_request;
    if (ticket === undefined) throw new Error('the service returned no ticket');
    const running = await processNames(client, answer.otelrdcp_chosen ?? [], terminal.now());
    present(terminal, values, answer, () => {
      terminal.out(shellWords('curl', '-H', `baggage: ${ticket.baggage}`, 'URL'));
      const are = names.length === 1 ? 'is' : 'are';
      const until = localClock(ticket.expiresAt, terminal.now());
      terminal.note(`${nameSome(names)} ${are} on for requests with this header, until ${until}.`);
      if (running.length > 0) terminal.note(`Chosen: ${nameSome(running)}.`);
    });
    if (values.tail !== true) return EXIT.done;
    const hash = createHash('sha256').update(carriedIn(ticket)).digest('base64url');
    const wanted = linesRequestOf({ ...values, for: lasting, match: [`${TICKET_ATTRIBUTE}=${hash}`] });
    const shared = { order: new TraceGroups(), ...(several && { services: chosen.each }) };
    try {
      return await readLines(terminal, wanted, shared, reading.tails);
    } finally {
      await endTicket(terminal, client, answer);
    }
  },
};

function carriedIn({ baggage }: RequestTicket): string {
  return baggage.slice(baggage.indexOf('=') + 1);
}

async function endTicket(
  terminal: Terminal,
  client: RdcpClient,
  { otelrdcp_request: ticket, otelrdcp_activation: activation }: ControlResponse,
): Promise<void> {
  if (ticket === undefined || activation === undefined || Date.parse(ticket.expiresAt) <= terminal.now()) return;
  const until = localClock(ticket.expiresAt, terminal.now());
  try {
    await client.control({ action: 'reset', options: { otelrdcp_id: activation.id } });
    // A signed one is verified without asking its service.
    const isSigned = carriedIn(ticket).includes('.');
    terminal.note(`The ticket has ended${isSigned ? `; services without its store accept it until ${until}` : ''}.`);
  } catch {
    terminal.note(`The ticket is valid until ${until}; to end it: ${shellWords('rdcp', 'end', '--id', activation.id)}`);
  }
}

interface Reading {
  readonly first: Source;
  readonly tails: (start: StartTail, interrupted: AbortSignal) => Promise<number>;
}

/** Before there is a ticket, so that a wrong address or credential leaves nothing behind. @throws where one cannot be read */
async function withOthers(
  terminal: Terminal,
  values: Values,
  selection: Selection,
  others: readonly string[],
): Promise<Reading> {
  const { tenant } = values;
  // No credential goes to them that an option named for the first service.
  const accesses = others.map((label) => {
    const place = label.includes('://') ? { tenant, url: label } : { tenant, profile: label };
    return { label, access: accessOf(terminal, place) };
  });
  const { access, names } = await selected(terminal, values, selection);
  const first: Source = { access, names };
  const sources = [first];
  const noteUnreadable = (label: string) => (error: unknown) => {
    terminal.note(`${label} cannot be read:`);
    throw error;
  };
  for (const { label, access } of accesses) {
    const known = await categoryNames(clientOf(terminal, access)).catch(noteUnreadable(label));
    sources.push({ access, label, names: sharedOf(names, known, `${label} has none of these categories`) });
  }
  const tails: Reading['tails'] = async (start, interrupted) => {
    const failed = new AbortController();
    const signal = AbortSignal.any([interrupted, failed.signal]);
    // The tails of all end when that of one fails.
    const codes = sources.map((source) =>
      start(source, signal).catch((error) => {
        failed.abort();
        if (source.label === undefined) throw error;
        return noteUnreadable(source.label)(error);
      }),
    );
    return Math.max(...(await Promise.all(codes)));
  };
  return { first, tails };
}

/** Those of several services that answer. The one that has most of the categories makes the ticket. @throws where there is none */
async function readable(terminal: Terminal, services: readonly Service[], selection: Selection): Promise<Reading> {
  const found = new Map<string, Source>();
  const outcomes = await askEach(terminal, services, async ({ name, values, sources }) => {
    const access = accessOf({ ...terminal, sources }, values);
    const known = await categoryNames(clientOf(terminal, access));
    const names = sharedOf(resolve(selection, known), known, 'it has none of these categories');
    found.set(name, { access, names, label: name });
    return EXIT.done;
  });
  const [first] = [...found.values()].sort((one, other) => other.names.length - one.names.length);
  if (first === undefined) throw new Error('there is no ticket: none of the services can be read');
  const failed = outcomes.filter(({ exitCode }) => exitCode !== EXIT.done);
  const tails: Reading['tails'] = async (start, interrupted) => {
    const answering = services.filter(({ name }) => found.has(name));
    const ended = await askEach(terminal, answering, ({ name }) => {
      const source = found.get(name) ?? first;
      const names = sharedOf(first.names, source.names, "it has none of the ticket's categories");
      return start({ ...source, names }, interrupted);
    });
    return conclude(terminal, [...failed, ...ended]);
  };
  return { first, tails };
}

/** The names that a service knows. @throws where it knows none */
function sharedOf(names: readonly string[], known: readonly string[], otherwise: string): string[] {
  const shared = names.filter((name) => known.includes(name));
  if (shared.length === 0) throw new Error(`${otherwise}: ${names.join(', ')}`);
  return shared;
}
