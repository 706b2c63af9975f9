import type { ControlRequest } from '../protocol/control-request.ts';
import type { Command, Commands } from './command.ts';
import type { CommandContext, ControlOutcome } from './types.ts';
import { unavailable } from './writer.ts';

/** Commands carried out together, at most: others wait for the lock of a shared file meanwhile. */
const MAX_TOGETHER = 64;
/** Commands of one tenant that wait, at most: with a store that takes 100 ms for each, more would outlast their requests. */
const MAX_WAITING = 256;

export interface QueueOptions {
  readonly commands: Commands;
  /** Runs work when everything before it is done. */
  readonly serially: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether the store writes many together. Those that arrive in one turn of the event loop are carried out together then. */
  readonly together: boolean;
  readonly report: (error: unknown) => void;
}

/**
 * Commands that wait, and what each of them is owed in its own asynchronous context. Those of one tenant keep their order;
 * tenants take turns, so that the backlog of one does not hold up another.
 */
export function createQueue({ commands, serially, together, report }: QueueOptions) {
  /** By tenant, whose turn is next first. */
  const waiting = new Map<string, Command[]>();
  const answers = new Set<Promise<unknown>>();
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    serially(carryOut).catch(report);
  }

  /** Schedules the rest behind what came meanwhile, such as the entry of a refusal. */
  async function carryOut(): Promise<void> {
    if (together) await new Promise(setImmediate);
    await commands.run(take(together ? MAX_TOGETHER : 1));
    scheduled = false;
    schedule();
  }

  /** One of each tenant, then another one of each. */
  function take(most: number): readonly Command[] {
    const taken: Command[] = [];
    // A map is walked through in the order of insertion, what is inserted meanwhile last.
    for (const [tenant, own] of waiting) {
      if (taken.length === most) break;
      taken.push(...own.splice(0, 1));
      waiting.delete(tenant);
      if (own.length > 0) waiting.set(tenant, own);
    }
    return taken;
  }

  function add(command: Command): void {
    const { tenant, scope } = command.context;
    const key = tenant?.id ?? scope.key;
    const own = waiting.get(key) ?? [];
    if (own.length >= MAX_WAITING) throw unavailable('Too many changes are waiting, so nothing was changed');
    own.push(command);
    waiting.set(key, own);
    schedule();
  }

  async function carriedOut(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<ControlOutcome>();
    let answered = false;
    let emitRecord: (() => void) | undefined;
    const whenKept = (emit: () => void) => {
      // An entry whose write seemed to fail may be found in the store much later.
      if (answered) emit();
      else emitRecord = emit;
    };
    add({ request, context, whenKept, resolve, reject });
    let outcome: ControlOutcome;
    try {
      outcome = await promise;
    } catch (error) {
      return serially(() => commands.afterFailure(request, context, error));
    } finally {
      answered = true;
    }
    emitRecord?.();
    // The next command need not wait for the disk, but nobody is told of a change before it is there.
    if (outcome.durable !== undefined) await kept(outcome.durable);
    return outcome;
  }

  return {
    /** @throws {RdcpError} with nothing changed, as the code says */
    answer(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
      const answer = carriedOut(request, context);
      const forget = () => answers.delete(answer);
      answers.add(answer);
      answer.then(forget, forget);
      return answer;
    },

    /** Resolves when every command that has come is answered. */
    async answered(): Promise<void> {
      await Promise.allSettled(answers);
    },
  };
}

async function kept(durable: Promise<void>): Promise<void> {
  try {
    await durable;
  } catch (cause) {
    throw unavailable('The change is in force, but it is not certain that the store has kept it', cause);
  }
}
