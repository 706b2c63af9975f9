import type { ControlRequest } from '../protocol/control-request.ts';
import type { Command, Commands } from './command.ts';
import type { CommandContext, ControlOutcome } from './types.ts';
import { unavailable } from './writer.ts';

/** Commands carried out together, at most: others wait for the lock of a shared file meanwhile. */
const MAX_TOGETHER = 64;

export interface QueueOptions {
  readonly commands: Commands;
  /** Runs work when everything before it is done. */
  readonly serially: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether the store writes many together. Those that arrive in one turn of the event loop are carried out together then. */
  readonly together: boolean;
  readonly report: (error: unknown) => void;
}

/** Commands in the order in which they came, and what each of them is owed in its own asynchronous context. */
export function createQueue({ commands, serially, together, report }: QueueOptions) {
  const waiting: Command[] = [];
  const answers = new Set<Promise<unknown>>();

  async function carryOut(): Promise<void> {
    if (together) await new Promise(setImmediate);
    const batch = waiting.splice(0, together ? MAX_TOGETHER : 1);
    if (together && waiting.length > 0) serially(carryOut).catch(report);
    await commands.run(batch);
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
    waiting.push({ request, context, whenKept, resolve, reject });
    if (!together || waiting.length === 1) serially(carryOut).catch(report);
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
