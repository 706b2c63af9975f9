import { setTimeout as sleep } from 'node:timers/promises';
import { attributesText, lineText, recordedOf } from '../../wire/line-text.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import type { TailEvent, TailLine, TailNow } from '../../wire/streams.ts';
import { messageOf } from '../../wire/thrown.ts';
import { timestamp } from '../../wire/time.ts';
import type { RdcpClient } from '../client/client.ts';
import { isPassing } from '../client/passing.ts';
import type { TailRequest } from '../client/streams.ts';
import { EXIT, type Terminal } from './command.ts';
import { type Access, clientOf } from './connection.ts';
import { withService } from './each-service.ts';
import { TimeOrder, TraceGroups } from './line-order.ts';
import { localClock, localTime } from './local-time.ts';
import { noteUnknownTenant, withNearest } from './names.ts';
import type { Format } from './options.ts';
import { ProcessNames } from './process-names.ts';
import type { Service } from './services.ts';
import { flowing, type Styled, widthOf } from './table.ts';
import { TailNotes } from './tail-notes.ts';

const TICK_MS = 250;
const PAUSE_MS = 1000;

export interface LinesRequest {
  readonly request: TailRequest;
  /** Ends after this many lines. @default no limit */
  readonly lines?: number | undefined;
  readonly format: Format;
}

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

interface Arrangement {
  /** Puts the lines of several processes or services in order. */
  readonly order: TraceGroups | TimeOrder;
  /** Several services, whose names their lines show. @default one, and those of `--also` */
  readonly services?: readonly Service[];
}

/** Reads the lines of the services that `read` starts. @returns the exit code of `read`; 0 or 1 where it was interrupted */
export async function readLines(
  terminal: Terminal,
  wanted: LinesRequest,
  { order, services }: Arrangement,
  read: (start: StartTail, interrupted: AbortSignal) => Promise<number>,
): Promise<number> {
  const interrupted = terminal.interruption();
  const tails: SourceTail[] = [];
  // Live lines wait until the recorded ones of every service have come, so that all are in the order of their times.
  const readingPast = new Set<SourceTail>();
  const shared: TailContext = {
    terminal,
    wanted,
    order,
    owners: services && new LineOwners(services),
    pastOver: (tail) => {
      const isLast = readingPast.delete(tail) && readingPast.size === 0;
      if (isLast) order.flush(Number.POSITIVE_INFINITY);
      return isLast;
    },
  };
  const codeOf = (some: readonly SourceTail[]) =>
    some.some(({ notes }) => notes.endedEarly) ? EXIT.refused : EXIT.done;
  const start: StartTail = async (source, signal = interrupted) => {
    const tail = new SourceTail(shared, source, signal);
    tails.push(tail);
    if (wanted.request.since !== undefined) readingPast.add(tail);
    try {
      await tail.read();
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      shared.pastOver(tail);
    }
    return codeOf([tail]);
  };
  const ticking = setInterval(() => {
    if (readingPast.size === 0) order.flush(terminal.now());
    for (const tail of tails) tail.tick();
  }, TICK_MS);
  try {
    return await read(start, interrupted);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    return codeOf(tails);
  } finally {
    clearInterval(ticking);
    order.flush(Number.POSITIVE_INFINITY);
    for (const tail of tails) tail.summarize();
  }
}

interface TailContext {
  readonly terminal: Terminal;
  readonly wanted: LinesRequest;
  readonly order: Arrangement['order'];
  readonly owners: LineOwners | undefined;
  /** Called when all recorded lines of a tail have come. @returns whether it was the last tail that had some to come */
  readonly pastOver: (tail: SourceTail) => boolean;
}

/** Services that share a store send the same processes: those of one come from its own service, else from the first that has them. */
class LineOwners {
  readonly names: readonly string[];
  readonly #owners = new Map<string, SourceTail>();
  readonly #tails = new Map<string, SourceTail>();

  constructor(services: readonly Service[]) {
    this.names = services.map(({ name }) => name);
  }

  begin(label: string, tail: SourceTail): void {
    this.#tails.set(label, tail);
  }

  /** @param service of the process, if known */
  isOf(instance: string, service: string | undefined, tail: SourceTail): boolean {
    const owner = this.#owners.get(instance) ?? this.#tails.get(service ?? '') ?? tail;
    this.#owners.set(instance, owner);
    return owner === tail;
  }

  /** The connection of a tail has broken: others may go on with its processes. */
  release(tail: SourceTail): void {
    for (const owned of [this.#owners, this.#tails]) {
      for (const [name, owner] of owned) if (owner === tail) owned.delete(name);
    }
  }

  nameOf(service: string | undefined): string | undefined {
    return this.names.find((name) => name === service);
  }
}

class SourceTail {
  readonly notes: TailNotes;
  readonly #shared: TailContext;
  readonly #source: Source;
  readonly #signal: AbortSignal;
  readonly #client: RdcpClient;
  readonly #processes: ProcessNames;
  /** The piece of work that the last line was recorded of. */
  #work = '';
  #saidShared = false;
  #processCount = 1;

  constructor(shared: TailContext, source: Source, signal: AbortSignal) {
    this.#shared = shared;
    this.#source = source;
    this.#signal = signal;
    this.#client = clientOf(shared.terminal, source.access);
    this.#processes = new ProcessNames(this.#client, signal);
    const { target, filter, when, past } = shared.wanted.request;
    const { instances } = target ?? {};
    this.notes = new TailNotes({
      note: (text) => this.#note(text),
      clock: ({ expiresAt }) => localClock(expiresAt, shared.terminal.now()),
      now: shared.terminal.now,
      past,
      part: { tenant: source.access.tenantId, target, filter, when },
      nameOf: (id) => this.#nameOf(id),
      chooses: (instances?.count ?? instances?.percent) !== undefined,
    });
  }

  /** Connects again where the connection breaks or the service restarts. @throws what ends the tail before its time */
  async read(): Promise<void> {
    const { owners, pastOver, wanted } = this.#shared;
    const { duration, since, ...request } = wanted.request;
    try {
      for (let first = true; ; first = false) {
        const seconds = this.notes.secondsLeft ?? this.#source.left ?? duration;
        try {
          await this.#readOnce({
            ...request,
            ...(first && since !== undefined && { since }),
            ...(seconds !== undefined && { duration: seconds }),
            ...(wanted.lines !== undefined && { lines: wanted.lines - this.notes.lines }),
          });
          if (!this.notes.interruptedByService || !this.notes.isUnfinished || request.past === true) return;
        } catch (error) {
          if (!this.notes.isUnfinished || request.past === true || !isPassing(error)) throw error;
          pastOver(this);
          this.notes.lost(messageOf(error));
          owners?.release(this);
        }
        await sleep(PAUSE_MS, undefined, { signal: this.#signal });
      }
    } catch (error) {
      owners?.release(this);
      if (this.#signal.aborted) throw error;
      throw await withNearest(this.#client, error);
    }
  }

  tick(): void {
    this.notes.tick();
    const now = this.#shared.terminal.now();
    if (!this.#processes.isDue(now)) return;
    void this.#processes.refresh(now).then((isOutage) => this.notes.outage(isOutage));
  }

  summarize(): void {
    const summary = this.notes.summary();
    if (summary !== undefined) this.#note(summary);
  }

  /** Of several services a process that is not of this one is named with its own, or by the tail of that. */
  #nameOf(id: string): string | undefined {
    const { owners } = this.#shared;
    const name = this.#processes.nameOf(id);
    const service = this.#processes.serviceOf(id);
    if (owners === undefined || service === this.#source.label) return name;
    // One that is not listed yet may be of another service.
    if (service === undefined) return this.#processes.areListed ? undefined : name;
    return owners.nameOf(service) === undefined ? `${name} of ${service}` : undefined;
  }

  #note(text: string): void {
    const { label } = this.#source;
    this.#shared.terminal.note(label === undefined ? text : `${label}: ${text}`);
  }

  async #readOnce(request: TailRequest): Promise<void> {
    const { terminal, owners, pastOver } = this.#shared;
    const { access, names, label = '' } = this.#source;
    for await (const event of this.#client.tail(names, { signal: this.#signal, ...request })) {
      await this.#learnProcesses(event);
      if (event.event === 'start') {
        this.#processCount = event.data.instances;
        owners?.begin(label, this);
      }
      if (event.event === 'line' && !this.#isOwn(event.data)) continue;
      this.notes.take(event);
      if (event.event === 'start' && event.data.tenantKnown === false) await noteUnknownTenant(terminal, access);
      if (event.event === 'now') this.#showNow(event.data);
      if (event.event !== 'line') continue;
      if (event.data.recorded !== true) pastOver(this);
      this.#show(event.data);
      await terminal.drained();
    }
  }

  async #learnProcesses({ event, data }: TailEvent): Promise<void> {
    const { owners, terminal } = this.#shared;
    const { now } = terminal;
    if (event === 'start' || (event === 'instance' && this.#processes.serviceOf(data.id) === undefined)) {
      this.notes.outage(await this.#processes.refresh(now()));
      for (const name of event === 'start' ? this.#processes.silent(now()) : []) {
        this.#note(`Lines of ${escapeUnprintable(name)} are missing.`);
      }
    }
    if (event === 'instance' && owners !== undefined) await this.#processes.listed(data.id, now);
  }

  /** Shows where live lines begin, once for all services. */
  #showNow(now: TailNow): void {
    const { terminal, wanted, pastOver } = this.#shared;
    if (!pastOver(this) || wanted.request.past === true) return;
    const at = timestamp(terminal.now());
    if (wanted.format === 'json') terminal.json({ event: 'now', timestamp: at, ...now });
    else terminal.say(`${localTime(at).slice(11)} now: live lines from here on`, 'bold');
  }

  #isOwn({ instance }: TailLine): boolean {
    if (this.#shared.owners?.isOf(instance, this.#processes.serviceOf(instance), this) !== false) return true;
    if (!this.#saidShared) this.#note('Shares its store with another service: each line is shown once.');
    this.#saidShared = true;
    return false;
  }

  #show(received: TailLine): void {
    const { terminal, wanted, order, owners } = this.#shared;
    const service = this.#processes.serviceOf(received.instance);
    const name = owners && (owners.nameOf(service) ?? this.#source.label);
    if (wanted.format === 'json') {
      const line = name === undefined ? received : withService(received, name);
      this.#inOrder(received, () => terminal.json(line));
      return;
    }
    const { line, work } = recordedOf(received);
    const isNext = work !== undefined && work.id !== this.#work;
    this.#work = work?.id ?? '';
    const isByTrace = order instanceof TraceGroups;
    const parts = partsOf(line, {
      wide: wanted.format === 'wide',
      service: isByTrace ? (name ?? service ?? this.#source.label) : undefined,
      process: this.#processes.isOne ? undefined : this.#processes.nameOf(line.instance),
    });
    const width = Math.max(...(owners?.names ?? []).map(widthOf));
    const prefix: Styled[] = name === undefined || isByTrace ? [] : [[name.padEnd(width), 'bold']];
    const show = (some: readonly Styled[]) => terminal.show(flowing(terminal, [...prefix, ...some]));
    this.#inOrder(line, () => {
      if (isNext) {
        const cut = work.cut === undefined ? '' : `, ${work.cut} earlier lines cut`;
        show([[`${work.outcome || 'recorded work'}${cut}:`, 'bold']]);
      }
      show(parts);
      for (const below of lineText(line).below) terminal.show(flowing(terminal, [[below, 'dim']]));
    });
  }

  /** Lines of one process come in order, and so do recorded ones of one service. */
  #inOrder(line: TailLine, show: () => void): void {
    const { terminal, order, owners } = this.#shared;
    const isOne = this.#processCount === 1 || line.recorded === true;
    if (owners === undefined && isOne && order instanceof TimeOrder) show();
    else order.add(line, show, terminal.now());
  }
}

/** Such as `14:05:12.345Z DATABASE query done rows=12 acme shop-7d9f:12 trace_id=…`. */
function partsOf(
  line: TailLine,
  { wide, service, process }: Record<'service' | 'process', string | undefined> & { readonly wide: boolean },
): Styled[] {
  const { timestamp, category, tenant, source, traceId, spanId, recorded } = line;
  const { message, attributes } = lineText(line);
  const origin = [
    recorded && 'recorded',
    service,
    tenant,
    process,
    wide && source,
    traceId && `trace_id=${traceId}`,
    wide && traceId && `span_id=${spanId ?? '-'}`,
  ];
  const parts: Styled[] = [
    [localTime(timestamp).slice(11), 'dim'],
    [category, 'cyan'],
    [[message, attributesText(attributes)].filter((each) => each !== '').join(' ')],
    [origin.filter(Boolean).join(' '), 'dim'],
  ];
  return parts.filter(([text]) => text !== '');
}
