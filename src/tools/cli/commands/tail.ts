import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_TAIL_LINES, MAX_TAIL_RATE } from '../../../wire/constants.ts';
import { isRdcpError } from '../../../wire/errors.ts';
import { attributesText, lineText, recordedOf } from '../../../wire/line-text.ts';
import type { TailLine, TailNow } from '../../../wire/streams.ts';
import { messageOf } from '../../../wire/thrown.ts';
import { parseDuration, timestamp } from '../../../wire/time.ts';
import type { RdcpClient } from '../../client/client.ts';
import { isPassing } from '../../client/passing.ts';
import { RdcpResponseError } from '../../client/response-error.ts';
import type { TailRequest } from '../../client/streams.ts';
import { type Command, EXIT, type Terminal, UsageError, type Values } from '../command.ts';
import { type Access, accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { type Ask, askEach, conclude } from '../each-service.ts';
import { widthOf } from '../fold.ts';
import { noteOf, withService } from '../merged-output.ts';
import { namesOf, noteUnknownTenant, parseSelection, withNearest } from '../names.ts';
import { duration, wholeNumber } from '../option-values.ts';
import { formatOf } from '../output.ts';
import { OUTCOME_OPTIONS, SELECTION_OPTIONS, selectionOf } from '../selection-options.ts';
import { chosenServices, SERVICE_OPTIONS, type Service } from '../services.ts';
import { TailNotes } from '../tail-notes.ts';
import { TimeOrder } from '../time-order.ts';
import { TraceGroups } from '../trace-groups.ts';

const TICK_MS = 250;
/** How long lines of a service with several processes are held, in milliseconds, so that slower relays are in order too. */
const HELD_IN_FLEET_MS = 300;
/** Between two attempts to reach a service that went away. */
const PAUSE_MS = 1000;
/** How often the processes are listed. */
const REFRESH_MS = 10_000;
/** How often, and in which interval in milliseconds, the fleet is asked for a process that it does not list yet. */
const LISTED_TRIES = 25;
const LISTED_MS = 200;
/** How long a tail lasts, by RDCP's default of this implementation. */
const USUAL = '5m';

export const tail: Command = {
  summary: 'read the debug lines of categories from every process of the fleet, without switching anything',
  operands: '<name...>',
  completes: 'categories',
  options: {
    for: { value: '5m', help: `how long (default: ${USUAL})` },
    rate: { value: 'N', help: 'maximum lines per second (default: 100); more than configured needs admin' },
    lines: { value: 'N', help: 'end after N lines' },
    since: { value: '2m', help: 'first the lines of that time before, of categories that are recorded' },
    past: { help: 'end after those; needs --since' },
    'also-log': { help: "write the lines to the service's own logs as well" },
    ...SELECTION_OPTIONS,
    ...OUTCOME_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...SERVICE_OPTIONS,
  },
  notes: [
    'The lines go to you alone; with --tenant those of that tenant. It ends with the time, or with Ctrl-C, in all processes.',
    'When the connection breaks or the service restarts, it goes on for the rest of its time. Times are UTC; with a shared',
    'store each line ends with its process, host:pid. Only lines go to stdout, with -o json as one JSON object each. Of several',
    'services they come a second later, in the order of their times, each with its service; --rate and --lines are of each.',
  ],
  examples: [
    'rdcp tail DATABASE --tenant acme --for 5m',
    'rdcp tail DATABASE -m user.id=42',
    'rdcp tail DATABASE --on-error',
    'rdcp tail ORDERS -m user.id=42 --since 2m',
    "rdcp tail 'PAYMENT*' -s shop,cart,pay",
    "rdcp tail 'DB_*' -o json | jq .message",
  ],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const wanted = wantedOf(values);
    const chosen = await chosenServices(terminal, values);
    if ('only' in chosen) {
      const access = accessOf(terminal, chosen.only);
      const names = await namesOf(terminal, clientOf(terminal, access), selection);
      const order = new TimeOrder(HELD_IN_FLEET_MS);
      return readLines(terminal, wanted, { order }, (start) => start({ access, names }));
    }
    const endsAt = terminal.now() + (parseDuration(wanted.request.duration ?? USUAL) ?? 0) * 1000;
    const several = { order: new TimeOrder(), services: chosen.each };
    return readLines(terminal, wanted, several, async (start, interrupted) => {
      const ask: Ask = async (service, ended) => {
        const own = { ...terminal, sources: service.sources, note: noteOf(terminal, service) };
        const access = accessOf(own, service.values);
        const client = clientOf(own, access);
        const names = await namesOf(own, { discovery: () => client.discovery({ signal: ended }) }, selection);
        if (chosen.each.includes(service)) return start({ access, names, label: service.name }, ended);
        const left = Math.round((endsAt - terminal.now()) / 1000);
        return left < 1 ? EXIT.done : start({ access, names, label: service.name, left }, ended);
      };
      return conclude(terminal, await askEach(terminal, chosen.each, ask, { values, interrupted }));
    });
  },
};

/** Which lines are read, for how long, and how they are shown. @throws {UsageError} */
export function wantedOf(values: Values) {
  const lasting = duration(values, 'for');
  const rate = wholeNumber(values, 'rate', MAX_TAIL_RATE);
  const since = duration(values, 'since');
  const past = values.past === true;
  if (past && since === undefined) throw new UsageError('--past needs --since: how far back');
  const request: TailRequest = {
    ...(lasting !== undefined && { duration: lasting }),
    ...(rate !== undefined && { rate }),
    ...(since !== undefined && { since }),
    ...(past && { past }),
    ...(values['also-log'] === true && { log: true }),
    ...selectionOf(values),
  };
  return { request, lines: wholeNumber(values, 'lines', MAX_TAIL_LINES), format: formatOf(values) };
}

type Wanted = ReturnType<typeof wantedOf>;

/** A service whose lines are read, and the categories that are read of it. */
export interface Source {
  readonly access: Access;
  readonly names: readonly string[];
  /** Names the service in notes and lines, where several are read. */
  readonly label?: string;
  /** For a service that came later: the time left, in seconds. @default that of the command */
  readonly left?: number;
}

/** Reads the lines of a service until the time is over or the signal. Resolves to the exit code. */
export type StartTail = (source: Source, signal?: AbortSignal) => Promise<number>;

interface Shared {
  /** Puts the lines of several processes or services in order. @default each is shown at once */
  readonly order?: TraceGroups | TimeOrder;
  /** Several services, whose names their lines show. @default one, and those of `--also` */
  readonly services?: readonly Service[];
}

/** Reads the lines of the services that `read` starts. @returns the exit code of `read`; 0 or 1 where it was interrupted */
export async function readLines(
  terminal: Terminal,
  wanted: Wanted,
  { order, services }: Shared,
  read: (start: StartTail, interrupted: AbortSignal) => Promise<number>,
): Promise<number> {
  const interrupted = terminal.interruption();
  const tails: SourceTail[] = [];
  const owners = services && new LineOwners(services);
  const ended = () => (tails.some(({ notes }) => notes.endedEarly) ? EXIT.refused : EXIT.done);
  const start: StartTail = async (source, signal = interrupted) => {
    const tail = new SourceTail(terminal, wanted, source, { order, owners, signal, past });
    tails.push(tail);
    try {
      await tail.read();
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      past.over(tail);
    }
    return tail.notes.endedEarly ? EXIT.refused : EXIT.done;
  };
  const past = new PastOfAll(() => order?.flush(Number.POSITIVE_INFINITY));
  const ticking = setInterval(() => {
    if (!past.isReading) order?.flush(terminal.now());
    for (const each of tails) each.tick();
  }, TICK_MS);
  try {
    return await read(start, interrupted);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    return ended();
  } finally {
    clearInterval(ticking);
    order?.flush(Number.POSITIVE_INFINITY);
    for (const each of tails) each.summarize();
  }
}

/**
 * Services that share a store send the lines of the same processes. Those of a process are taken from the tail of its own
 * service, or from the first that sends them where its own is not read, and shown under the name of its own.
 */
class LineOwners {
  /** By process. */
  readonly #owners = new Map<string, SourceTail>();
  readonly #reading = new Map<string, SourceTail>();
  readonly #names: readonly string[];

  constructor(services: readonly Service[]) {
    this.#names = services.map(({ name }) => name);
  }

  /** Columns of the longest name. */
  get width(): number {
    return Math.max(...this.#names.map(widthOf));
  }

  begins(label: string, tail: SourceTail): void {
    this.#reading.set(label, tail);
  }

  /** @param service of the process, if known */
  isOf(instance: string, service: string | undefined, tail: SourceTail): boolean {
    const owner = this.#owners.get(instance) ?? this.#reading.get(service ?? '') ?? tail;
    this.#owners.set(instance, owner);
    return owner === tail;
  }

  /** The connection of a tail has broken: others may go on with its processes. */
  release(tail: SourceTail): void {
    for (const owned of [this.#owners, this.#reading]) {
      for (const [name, owner] of owned) if (owner === tail) owned.delete(name);
    }
  }

  nameOf(service: string | undefined): string | undefined {
    return this.#names.find((name) => name === service);
  }
}

/** Holds live lines back until the recorded ones of every service have come, so that all are in the order of their times. */
class PastOfAll {
  readonly #reading = new Set<SourceTail>();
  readonly #flush: () => void;

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  get isReading(): boolean {
    return this.#reading.size > 0;
  }

  begins(tail: SourceTail): void {
    this.#reading.add(tail);
  }

  /** @returns whether that was the last one */
  over(tail: SourceTail): boolean {
    const isLast = this.#reading.delete(tail) && !this.isReading;
    if (isLast) this.#flush();
    return isLast;
  }
}

/** The tail of one service. */
class SourceTail {
  readonly notes: TailNotes;
  readonly #terminal: Terminal;
  readonly #wanted: Wanted;
  readonly #source: Source;
  readonly #client: RdcpClient;
  readonly #processes: ProcessNames;
  readonly #order: Shared['order'];
  readonly #owners: LineOwners | undefined;
  readonly #past: PastOfAll;
  readonly #signal: AbortSignal;
  /** The piece of work that the last line was recorded of. */
  #work = '';
  #saidShared = false;
  #processCount = 1;

  constructor(
    terminal: Terminal,
    wanted: Wanted,
    source: Source,
    shared: {
      readonly order: Shared['order'];
      readonly owners: LineOwners | undefined;
      readonly signal: AbortSignal;
      readonly past: PastOfAll;
    },
  ) {
    this.#terminal = terminal;
    this.#wanted = wanted;
    this.#source = source;
    this.#order = shared.order;
    this.#owners = shared.owners;
    this.#past = shared.past;
    if (wanted.request.since !== undefined) this.#past.begins(this);
    this.#signal = shared.signal;
    this.#client = clientOf(terminal, source.access);
    this.#processes = new ProcessNames(this.#client, this.#signal);
    const { access } = source;
    const { target, filter, when } = wanted.request;
    const { instances } = target ?? {};
    this.notes = new TailNotes({
      note: (text) => this.#note(text),
      clock: ({ expiresAt }) => `${expiresAt.slice(11, 19)}Z`,
      now: terminal.now,
      part: { tenant: access.tenantId, target, filter, when },
      nameOf: (id) => this.#nameOf(id),
      chooses: (instances?.count ?? instances?.percent) !== undefined,
    });
  }

  /** Connects again where the connection breaks or the service restarts. @throws what ends the tail before its time */
  async read(): Promise<void> {
    const { lines } = this.#wanted;
    const { duration, since, ...request } = this.#wanted.request;
    const { left = duration } = this.#source;
    try {
      for (let first = true; ; first = false) {
        const seconds = this.notes.secondsLeft ?? left;
        try {
          await this.#readOnce({
            ...request,
            ...(first && since !== undefined && { since }),
            ...(seconds !== undefined && { duration: seconds }),
            ...(lines !== undefined && { lines: lines - this.notes.lines }),
          });
          if (!this.notes.interruptedByService || !this.notes.isUnfinished || request.past === true) return;
        } catch (error) {
          if (!this.notes.isUnfinished || request.past === true || !isPassing(error)) throw error;
          this.#past.over(this);
          this.notes.lost(messageOf(error));
          this.#owners?.release(this);
        }
        await sleep(PAUSE_MS, undefined, { signal: this.#signal });
      }
    } catch (error) {
      this.#owners?.release(this);
      if (this.#signal.aborted) throw error;
      throw await withNearest(this.#client, error);
    }
  }

  tick(): void {
    this.notes.tick();
    if (!this.#processes.isDue(this.#terminal.now())) return;
    void this.#processes.refresh().then((outage) => this.notes.outage(outage));
  }

  summarize(): void {
    const summary = this.notes.summary();
    if (summary !== undefined) this.#note(summary);
  }

  /** Of several services a process that is not of this one is named with its own, or by the tail of that. */
  #nameOf(id: string): string | undefined {
    const { label } = this.#source;
    const name = this.#processes.nameOf(id);
    const service = this.#processes.serviceOf(id);
    if (this.#owners === undefined || service === label) return name;
    // One that is not listed yet may be of another service.
    if (service === undefined) return this.#processes.areListed ? undefined : name;
    return this.#owners.nameOf(service) === undefined ? `${name} of ${service}` : undefined;
  }

  #note(text: string): void {
    const { label } = this.#source;
    this.#terminal.note(label === undefined ? text : `${label}: ${text}`);
  }

  async #readOnce(request: TailRequest): Promise<void> {
    const { access, names } = this.#source;
    for await (const event of this.#client.tail(names, { signal: this.#signal, ...request })) {
      if (event.event === 'start' || (event.event === 'instance' && !this.#processes.has(event.data.id))) {
        this.notes.outage(await this.#processes.refresh());
      }
      if (event.event === 'instance' && this.#owners !== undefined) await this.#processes.listed(event.data.id);
      if (event.event === 'start') {
        this.#processCount = event.data.instances;
        this.#owners?.begins(this.#source.label ?? '', this);
      }
      if (event.event === 'line' && !this.#isOwn(event.data)) continue;
      this.notes.take(event);
      if (event.event === 'start' && event.data.tenantKnown === false) await noteUnknownTenant(this.#terminal, access);
      if (event.event === 'now') this.#showNow(event.data);
      if (event.event !== 'line') continue;
      if (event.data.recorded !== true) this.#past.over(this);
      this.#show(event.data);
      await this.#terminal.drained();
    }
  }

  /** Shows where live lines begin, once for all services. */
  #showNow(now: TailNow): void {
    const terminal = this.#terminal;
    if (!this.#past.over(this) || this.#wanted.request.past === true) return;
    if (this.#wanted.format === 'json') terminal.json({ event: 'now', timestamp: timestamp(terminal.now()), ...now });
    else terminal.show(terminal.paint(`${timestamp(terminal.now()).slice(11)} now: live lines from here on`, 'bold'));
  }

  #isOwn({ instance }: TailLine): boolean {
    if (this.#owners?.isOf(instance, this.#processes.serviceOf(instance), this) !== false) return true;
    if (!this.#saidShared) this.#note('Shares its store with another service: each line is shown once.');
    this.#saidShared = true;
    return false;
  }

  #show(given: TailLine): void {
    const { format } = this.#wanted;
    const terminal = this.#terminal;
    const service = this.#processes.serviceOf(given.instance);
    const name = this.#owners && (this.#owners.nameOf(service) ?? this.#source.label);
    if (format === 'json') {
      this.#inOrder(given, () => terminal.json(name === undefined ? given : withService(given, name)));
      return;
    }
    const { line, work } = recordedOf(given);
    const isNewWork = work !== undefined && work.id !== this.#work;
    this.#work = work?.id ?? '';
    const isByTrace = this.#order instanceof TraceGroups;
    const text = lineOf(terminal, line, this.#processes, {
      wide: format === 'wide',
      service: isByTrace ? (name ?? service ?? this.#source.label) : undefined,
    });
    const prefix =
      name === undefined || isByTrace ? '' : `${terminal.paint(name.padEnd(this.#owners?.width ?? 0), 'bold')} `;
    const missing = work?.cut === undefined ? '' : `, ${work.cut} earlier lines cut`;
    const heading = isNewWork ? terminal.paint(`${work.outcome || 'recorded work'}${missing}:`, 'bold') : undefined;
    const show = () => {
      if (heading !== undefined) terminal.show(prefix + heading);
      terminal.show(prefix + text);
    };
    this.#inOrder(line, show);
  }

  /** Lines of one process come in order, and so do recorded ones of one service. */
  #inOrder(line: TailLine, show: () => void): void {
    const isOne = this.#processCount === 1 || line.recorded === true;
    const isOrdered = this.#owners === undefined && isOne && this.#order instanceof TimeOrder;
    if (this.#order === undefined || isOrdered) show();
    else this.#order.add(line, show, this.#terminal.now());
  }
}

/** The processes as people know them, `host:pid`, where the service lists its fleet. */
class ProcessNames {
  readonly #client: Pick<RdcpClient, 'fleet'>;
  readonly #signal: AbortSignal;
  readonly #names = new Map<string, string>();
  readonly #services = new Map<string, string>();
  #askedAt = Number.POSITIVE_INFINITY;
  #asks = true;
  #isOne = false;

  constructor(client: Pick<RdcpClient, 'fleet'>, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  isDue(now: number): boolean {
    return this.#asks && now - this.#askedAt >= REFRESH_MS;
  }

  has(id: string): boolean {
    return this.#names.has(id);
  }

  nameOf(id: string): string {
    return this.#names.get(id) ?? id.slice(0, 8);
  }

  /** Waits five seconds at most for a process that has just started to be listed, so that its service is known. */
  async listed(id: string): Promise<void> {
    for (let tries = 0; tries < LISTED_TRIES && this.#asks && !this.has(id); tries += 1) {
      await sleep(LISTED_MS, undefined, { signal: this.#signal });
      await this.refresh();
    }
  }

  /** Whether the service shares its state with no other process, so that all lines come from one. */
  get isOne(): boolean {
    return this.#isOne;
  }

  /** Whether the service lists its fleet. */
  get areListed(): boolean {
    return this.#asks;
  }

  /** `undefined` where the service does not list its fleet, or the process not yet. */
  serviceOf(id: string): string | undefined {
    return this.#services.get(id);
  }

  /** @returns whether the service cannot reach its store, so that lines of other processes are missing */
  async refresh(): Promise<boolean> {
    if (!this.#asks) return false;
    this.#askedAt = Date.now();
    try {
      const { instances } = await this.#client.fleet({ signal: this.#signal });
      for (const { id, host, pid, service } of instances) {
        this.#names.set(id, `${host}:${pid}`);
        this.#services.set(id, service);
      }
      return false;
    } catch (error) {
      if (this.#signal.aborted) return false;
      const isOutage = error instanceof RdcpResponseError && error.code === 'RDCP_UNAVAILABLE';
      // Without a shared store there is no list, and the credential may not be allowed to see it.
      this.#asks = isPassing(error);
      this.#isOne = isRdcpError(error) && error.code === 'RDCP_NOT_FOUND';
      return isOutage;
    }
  }
}

/** Such as `14:05:12.345Z DATABASE query done rows=12 acme shop-7d9f:12 trace_id=…`, with the stacks of errors below. */
function lineOf(
  terminal: Terminal,
  line: TailLine,
  processes: ProcessNames,
  { wide, service }: { readonly wide: boolean; readonly service: string | undefined },
): string {
  const { timestamp, category, tenant, instance, source, traceId, spanId, recorded } = line;
  const { message, attributes, below } = lineText(line);
  const given = attributesText(attributes);
  const trace = traceId === undefined ? [] : [`trace_id=${traceId}`, ...(wide ? [`span_id=${spanId ?? '-'}`] : [])];
  const from = processes.isOne ? undefined : processes.nameOf(instance);
  const origin = [
    recorded === true ? 'recorded' : undefined,
    service,
    tenant,
    from,
    wide ? source : undefined,
    ...trace,
  ];
  const shown = origin.filter((each) => each !== undefined).join(' ');
  const text = [
    terminal.paint(timestamp.slice(11), 'dim'),
    terminal.paint(category, 'cyan'),
    terminal.paint(given === '' ? message : `${message} ${given}`, undefined),
    ...(shown === '' ? [] : [terminal.paint(shown, 'dim')]),
  ].join(' ');
  return [text, ...below.map((each) => terminal.paint(each, 'dim'))].join('\n');
}
