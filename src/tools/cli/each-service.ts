import { escapeUnprintable } from '../../wire/printable.ts';
import type { Timestamp } from '../../wire/time.ts';
import { counted } from '../../wire/words/count.ts';
import { type Command, EXIT, type Terminal, UsageError, type Values } from './command.ts';
import { failureOf } from './explain.ts';
import { type Format, formatOf } from './options.ts';
import { chosenServices, SERVICE_OPTIONS, type Service, servicesAgain } from './services.ts';
import { type Cell, flowing, type Rows, rowsOf, type Styled, type TableOptions, table } from './table.ts';

/** @param ended aborted where a command that runs on is interrupted, or the service is no longer listed */
export type Ask = (service: Service, ended: AbortSignal) => Promise<number | undefined>;

/** The command, for one service or for several, which are asked at the same time; their answers are shown together. */
export function ofServices(command: Command): Command {
  return forOneOr(command, async (terminal, services, values, operands) => {
    const single = ['cursor', 'print', 'open'].find((name) => values[name] !== undefined);
    if (single !== undefined) throw new UsageError(`--${single} is of one service: name that one`);
    const merged = new MergedOutput(terminal, services);
    const outcomes = await askEach(terminal, services, (service) =>
      command.run(merged.terminalOf(service), service.values, operands).finally(() => merged.end()),
    );
    merged.show(outcomes, formatOf(values));
    return outcomes;
  });
}

/** The same for a command that runs until it is interrupted: shows at once what each service shows, with its name. */
export function ofServicesUntilInterrupted(command: Command): Command {
  return forOneOr(command, (terminal, services, values, operands) => {
    const ask: Ask = (service, ended) => command.run(streamed(terminal, service, ended), service.values, operands);
    return askEach(terminal, services, ask, { values, interrupted: terminal.interruption() });
  });
}

/** The command with the options that choose services; `several` runs it where they choose more than one. */
function forOneOr(
  command: Command,
  several: (
    terminal: Terminal,
    services: readonly Service[],
    values: Values,
    operands: readonly string[],
  ) => Promise<readonly Outcome[]>,
): Command {
  return {
    ...command,
    options: { ...command.options, ...SERVICE_OPTIONS },
    run: async (terminal, values, operands) => {
      const chosen = await chosenServices(terminal, values);
      if ('only' in chosen) return command.run(terminal, chosen.only, operands);
      return conclude(terminal, await several(terminal, chosen.each, values, operands));
    },
  };
}

interface ServiceRequest {
  readonly service: Service;
  readonly gone: AbortController;
  readonly outcome: Promise<Outcome>;
}

/**
 * Names those that refuse or do not answer; the others go on.
 * @param following for a command that runs on: the options that choose its services, which may change, and its end
 * @throws {UsageError} of `ask`, which is about the options of all
 */
export async function askEach(
  terminal: Terminal,
  services: readonly Service[],
  ask: Ask,
  following?: { readonly values: Values; readonly interrupted: AbortSignal },
): Promise<readonly Outcome[]> {
  const asked = new Map<string, ServiceRequest>();
  const outcomes: Promise<Outcome>[] = [];
  const start = (service: Service) => {
    const gone = new AbortController();
    const ended = following === undefined ? gone.signal : AbortSignal.any([gone.signal, following.interrupted]);
    const outcome = outcomeOf(terminal, service, ended, ask);
    asked.set(service.name, { service, gone, outcome });
    outcomes.push(outcome);
  };
  for (const service of services) start(service);
  const over = new AbortController();
  if (following !== undefined) {
    const signal = AbortSignal.any([over.signal, following.interrupted]);
    void follow(terminal, servicesAgain(terminal, following.values, signal), asked, start).catch(() => undefined);
  }
  try {
    // Of those that come meanwhile as well.
    for (let ended = 0; ended < outcomes.length; ) {
      ended = outcomes.length;
      await Promise.all(outcomes);
    }
  } finally {
    over.abort();
  }
  return Promise.all([...asked.values()].map(({ outcome }) => outcome));
}

async function follow(
  terminal: Terminal,
  again: AsyncIterable<readonly Service[]>,
  asked: Map<string, ServiceRequest>,
  start: (service: Service) => void,
): Promise<void> {
  for await (const services of again) {
    for (const [name, { service, gone }] of asked) {
      if (services.some((other) => other.name === name && other.url === service.url)) continue;
      terminal.note(`${name}: no longer listed.`);
      asked.delete(name);
      gone.abort();
    }
    for (const service of services.filter(({ name }) => !asked.has(name))) {
      terminal.note(`${service.name}: listed now.`);
      start(service);
    }
  }
}

async function outcomeOf(terminal: Terminal, service: Service, ended: AbortSignal, ask: Ask): Promise<Outcome> {
  const { name, problem, sources } = service;
  try {
    if (problem !== undefined) throw problem;
    return { service: name, exitCode: (await ask(service, ended)) ?? EXIT.done };
  } catch (error) {
    if (ended.aborted) return { service: name, exitCode: EXIT.done };
    if (error instanceof UsageError && error !== problem) throw error;
    const { text, code } = failureOf(error, sources);
    terminal.note(`rdcp: ${name}: ${escapeUnprintable(text)}`);
    return { service: name, exitCode: code, error: text };
  }
}

/** Says where it did not succeed. @returns the exit code for all: 3 where it succeeded for some */
export function conclude(terminal: Terminal, outcomes: readonly Outcome[]): number {
  const failed = outcomes.filter(({ exitCode }) => exitCode !== EXIT.done);
  const [first] = failed;
  if (first === undefined) return EXIT.done;
  const names = failed.map(({ service }) => service).join(', ');
  terminal.note(`rdcp: not done for ${failed.length} of ${counted(outcomes.length, 'service')}: ${names}`);
  if (failed.length < outcomes.length) return EXIT.partial;
  return failed.every(({ exitCode }) => exitCode === first.exitCode) ? first.exitCode : EXIT.refused;
}

export interface Outcome {
  readonly service: string;
  readonly exitCode: number;
  /** Present where the service refused, or did not answer. */
  readonly error?: string;
}

interface Table {
  readonly header: readonly string[];
  readonly rows: Rows;
  readonly options: TableOptions;
}

interface Output {
  answer?: object;
  readonly tables: Table[];
  readonly sentences: Styled[];
}

/** Collects what a command shows of each service, and shows it together once all are done. */
export class MergedOutput {
  readonly #terminal: Terminal;
  readonly #outputs = new Map<string, Output>();
  /** Services that neither have ended nor wait for an answer of the person. */
  #running: number;
  readonly #waiting = new Map<string, { readonly question: string; readonly resolve: (answer: string) => void }>();

  constructor(terminal: Terminal, services: readonly Service[]) {
    this.#terminal = terminal;
    this.#running = services.filter(({ problem }) => problem === undefined).length;
  }

  terminalOf(service: Service): Terminal {
    const output: Output = { tables: [], sentences: [] };
    this.#outputs.set(service.name, output);
    const say: Terminal['say'] = (...sentence) => void output.sentences.push(sentence);
    const { screen } = this.#terminal;
    return {
      ...this.#terminal,
      sources: service.sources,
      merges: true,
      note: noteOf(this.#terminal, service),
      say,
      out: (text) => text !== '' && say(text),
      table: (items, columns, options = {}) => {
        const [header, rows] = rowsOf(items, columns);
        output.tables.push({ header, rows, options });
      },
      json: (value) => {
        output.answer = value;
      },
      ask: (question) =>
        new Promise((resolve) => {
          this.#waiting.set(service.name, { question, resolve });
          this.end();
        }),
      // The table of all has no share of the screen for each.
      screen: { write: (text) => screen.write(text), isTTY: screen.isTTY, columns: screen.columns },
    };
  }

  /** Called when the command has ended for a service. The person is asked once for all, when every other one waits. */
  end(): void {
    this.#running -= 1;
    if (this.#running > 0 || this.#waiting.size === 0) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#running = waiting.length;
    const services = Map.groupBy(waiting, ([, { question }]) => question);
    const questions = [...services].map(([question, all]) => `${all.map(([name]) => name).join(', ')}: ${question}`);
    void this.#terminal.ask(questions.join(' ')).then((answer) => {
      for (const [, { resolve }] of waiting) resolve(answer);
    });
  }

  show(outcomes: readonly Outcome[], format: Format): void {
    const { out, show, json } = this.#terminal;
    const all = outcomes.map((outcome) => {
      const { answer, tables = [], sentences = [] } = this.#outputs.get(outcome.service) ?? {};
      return { outcome, answer, tables, sentences };
    });
    if (format === 'json') {
      json({ services: all.map(({ outcome, answer }) => ({ ...outcome, answer })) }, 2);
      return;
    }
    const most = Math.max(...all.map(({ tables }) => tables.length));
    for (let at = 0; at < most; at++) {
      const tables = all.flatMap(({ outcome: { service }, tables }) =>
        tables.slice(at, at + 1).map((each) => ({ service, ...each })),
      );
      if (at > 0) out('');
      const { header, rows, options } = merged(tables);
      show(table(this.#terminal, header, rows, options));
    }
    if (most > 0 && all.some(({ sentences }) => sentences.length > 0)) out('');
    for (const { outcome, sentences } of all) {
      for (const sentence of sentences) show(flowing(this.#terminal, [[`${outcome.service}:`, 'bold'], sentence]));
    }
  }
}

/** The terminal of a command that runs on, for one service: what it shows is shown at once, with the name of the service. */
export function streamed(terminal: Terminal, service: Service, interrupted: AbortSignal): Terminal {
  return {
    ...terminal,
    sources: service.sources,
    note: noteOf(terminal, service),
    say: (...sentence) => terminal.show(flowing(terminal, [[service.name, 'bold'], sentence])),
    json: (value) => terminal.json(withService(value, service.name)),
    repaints: false,
    interactive: false,
    interruption: () => interrupted,
  };
}

/** The name first, and no other: a service may be hostile. */
export function withService(value: object, service: string): object {
  return Object.assign({ service }, value, { service });
}

export function noteOf(terminal: Terminal, { name }: Service): Terminal['note'] {
  return (text) => {
    for (const line of text.trimEnd().split('\n')) terminal.note(`${name}: ${line}`);
  };
}

/** Tables with a first column for the service. A column that one of them lacks is `-` there. */
function merged(tables: readonly (Table & { readonly service: string })[]): Table {
  const columns: string[] = [];
  for (const { header } of tables) {
    header.forEach((name, at) => {
      if (columns.includes(name)) return;
      const next = header.slice(at).find((other) => columns.includes(other));
      columns.splice(next === undefined ? columns.length : columns.indexOf(next), 0, name);
    });
  }
  const rows = tables.flatMap(({ service, header, rows, options }) => {
    // The others of its fleet have the rows of the first.
    const same = tables.filter(({ options: { fleet } }) => fleet !== undefined && fleet === options.fleet);
    if (same.length > 1 && same[0]?.service !== service) return [];
    const names = same.length > 1 ? same.map((each) => each.service).join(', ') : service;
    return rows.map((row) => [
      names,
      ...columns.map((name) => (header.includes(name) ? (row[header.indexOf(name)] ?? '') : '-')),
    ]);
  });
  const { options = {} } = tables[0] ?? {};
  const times = tables.flatMap(({ options }) => options.times ?? []);
  return { header: ['SERVICE', ...columns], rows: times.length > 0 ? newestFirst(rows, times) : rows, options };
}

/** In the order of their times. Services that share a store have the same entries: these are shown once. */
function newestFirst(rows: readonly Cell[][], times: readonly Timestamp[]): Cell[][] {
  const byEntry = new Map<string, { readonly services: string[]; readonly row: Cell[]; readonly time: Timestamp }>();
  for (const [at, [service = '', ...row]] of rows.entries()) {
    const time = times[at] ?? '';
    const entry = JSON.stringify([time, ...row]);
    const { services = [] } = byEntry.get(entry) ?? {};
    byEntry.set(entry, { services: [...services, String(service)], row, time });
  }
  const sorted = [...byEntry.values()].sort((a, b) => b.time.localeCompare(a.time));
  return sorted.map(({ services, row }) => [services.join(', '), ...row]);
}
