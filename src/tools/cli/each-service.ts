import { escapeUnprintable } from '../../wire/printable.ts';
import { counted } from '../../wire/words/count.ts';
import { type Command, EXIT, type Terminal, UsageError, type Values } from './command.ts';
import { failureOf } from './explain.ts';
import { MergedOutput, type Outcome, streamed } from './merged-output.ts';
import { formatOf } from './output.ts';
import { chosenServices, SERVICE_OPTIONS, type Service, servicesAgain } from './services.ts';

/** @param ended aborted where a command that runs on is interrupted, or the service is no longer listed */
export type Ask = (service: Service, ended: AbortSignal) => Promise<number | undefined>;

/** For a command that runs on: the options that choose its services, which may change, and its end. */
interface Following {
  readonly values: Values;
  readonly interrupted: AbortSignal;
}

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

/** Names those that refuse or do not answer; the others go on. @throws {UsageError} of `ask`, which is about the options of all */
export async function askEach(
  terminal: Terminal,
  services: readonly Service[],
  ask: Ask,
  following?: Following,
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
