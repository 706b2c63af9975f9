import type { AuditDraft, Recording } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ControlResponse } from '../protocol/messages.ts';
import {
  type CommitResult,
  GLOBAL_SCOPE,
  type Overlay,
  type ReplayRecord,
  type ScopeKey,
  type StateStore,
} from '../store/state-store.ts';
import { commandDraft, refusalDraft, replayRecord } from './drafts.ts';
import type { Ledger } from './ledger.ts';
import { createProspect, type Prospect } from './prospect.ts';
import { controlResponse } from './response.ts';
import type { Settlement } from './settlement.ts';
import { overlaySeconds, type Situation, transition } from './transition.ts';
import type { CommandContext, ControlOutcome } from './types.ts';
import { storeFailure, unavailable, type Write, type Writer } from './writer.ts';

/** A control request that waits for its answer. */
export interface Command {
  readonly request: ControlRequest;
  readonly context: CommandContext;
  resolve(outcome: ControlOutcome): void;
  /** With nothing changed. */
  reject(error: unknown): void;
  /** Takes what emits the OTel record, once the entry is kept. */
  readonly whenKept: NonNullable<Recording['whenKept']>;
}

/** How often commands whose scope others keep changing are computed again. */
const MAX_ATTEMPTS = 64;
/** As many of them follow at once; then each waits a little, so that a crowd of processes gets out of each other's way. */
const EAGER_ATTEMPTS = 4;
const MAX_BACKOFF_MS = 50;

export type Commands = ReturnType<typeof createCommands>;

export interface CommandsOptions {
  readonly store: Pick<StateStore, 'findReplay'>;
  readonly ledger: Ledger;
  readonly writer: Writer;
  readonly settlement: Settlement;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly securityLevel: SecurityLevel;
  readonly situationOf: (key: ScopeKey) => Situation;
  /** Ends what is over, for the gate and for what is computed. */
  readonly sweep: () => void;
  /** Puts temporary controls in force in this process alone. */
  readonly overlayHere: (key: ScopeKey, overlays: ReadonlyMap<string, Overlay>, draft: AuditDraft) => void;
  /** What keeps the store from being asked now; `undefined` while nothing does. */
  readonly outage: () => RdcpError | undefined;
  /** Called when the store did not answer. */
  readonly failed: () => void;
}

/** What a command comes to if nobody else is faster. */
interface Planned {
  readonly command: Command;
  readonly response: ControlResponse;
  readonly write: Write;
}

/** Carries out control requests: in order, and together as far as the store can write them together. */
export function createCommands(options: CommandsOptions) {
  const { store, ledger, writer, settlement, clock, delay, random, securityLevel, situationOf, sweep } = options;
  /** Answers that hold in this process alone, until the store has them. */
  const unsent = new Map<string, ReplayRecord>();

  /** True where the answer holds in this process alone, and is given again. */
  function answeredHere(command: Command): boolean {
    const { replay } = command.context;
    const own = replay && unsent.get(replay.key);
    if (own === undefined || own.expiresAt <= clock.now()) return false;
    repeat(command, own);
    return true;
  }

  /**
   * A commit finds the answer that was given to a repeat before. Where it does not come to a commit, as the command cannot be
   * carried out any more, the store is asked.
   */
  async function refuse(command: Command, error: unknown): Promise<void> {
    const { context, reject } = command;
    try {
      const earlier = context.replay && (await store.findReplay(context.replay.key, clock.now()));
      if (earlier === undefined) reject(error);
      else repeat(command, earlier);
    } catch (failure) {
      options.failed();
      reject(storeFailure(failure));
    }
  }

  /**
   * What they are computed on is to be what the store has.
   * @throws {RdcpError} when that cannot be had
   */
  async function settleFor(commands: readonly Command[]): Promise<void> {
    for (const key of new Set([GLOBAL_SCOPE, ...commands.map(({ context }) => context.scope.key)])) {
      if (ledger.unsettled.has(key)) await settlement.settle(key);
      if (ledger.here(key).size > 0) throw contended();
    }
  }

  /** Tries those that wait. Returns those that still do. */
  async function attempt(waiting: readonly Command[]): Promise<readonly Command[]> {
    const refused: Promise<void>[] = [];
    let planned: readonly Planned[] = [];
    let results: readonly CommitResult[] = [];
    try {
      sweep();
      if (ledger.unsettled.size > 0) await settleFor(waiting);
      const prospect = createProspect(ledger, situationOf);
      planned = waiting.flatMap((command) => {
        try {
          return [plan(command, prospect)];
        } catch (error) {
          refused.push(refuse(command, error));
          return [];
        }
      });
      if (planned.length > 0) results = await writer.writeAll(planned.map(({ write }) => write));
    } catch (error) {
      const failed = planned.length > 0 ? planned.map(({ command }) => command) : waiting;
      for (const { reject } of failed) reject(error);
      planned = [];
    }
    const done = results.filter((result, index) => settle(planned[index] as Planned, result)).length;
    await Promise.all(refused);
    return planned.slice(done).map(({ command }) => command);
  }

  function plan(command: Command, prospect: Prospect): Planned {
    const { request, context, whenKept } = command;
    const { key } = context.scope;
    const now = clock.now();
    const next = transition(prospect.situation(key), request, now);
    const response = controlResponse(request, next, 'success', now, context.tenant);
    const write: Write = {
      draft: commandDraft(request, context, next, 'success'),
      whenKept,
      ...(request.action !== 'status' && { state: prospect.change(key, next.settings) }),
      replay: replayRecord(context, response, now),
    };
    return { command, response, write };
  }

  /** False where it is to be computed again: others changed the scope before. */
  function settle({ command, response, write }: Planned, result: CommitResult): boolean {
    if (result.outcome === 'conflict') return false;
    if (result.outcome === 'replayed') {
      repeat(command, result.replay);
      return true;
    }
    const { position, durable } = result;
    const json = write.replay?.response;
    command.resolve({ response, json, replayed: false, ...(position && { position }), ...(durable && { durable }) });
    return true;
  }

  /**
   * The store may be the very thing that is broken: a temporary control still holds here. What is for good is refused, and
   * at level enterprise everything.
   */
  function applyHere(request: ControlRequest, context: CommandContext, failure: RdcpError): ControlOutcome {
    const { key } = context.scope;
    sweep();
    const situation = situationOf(key);
    if (overlaySeconds(request, situation.limits) === undefined || securityLevel === 'enterprise') throw failure;
    const now = clock.now();
    const next = transition(situation, request, now);
    const overlays = new Map<string, Overlay>();
    for (const category of next.categories) {
      const overlay = next.settings.get(category)?.temporary;
      if (overlay !== undefined) overlays.set(category, overlay);
    }
    const response = controlResponse(request, next, 'partial', now, context.tenant);
    const replay = replayRecord(context, response, now);
    const draft = commandDraft(request, context, next, 'partial');
    const kept = writer.writeLater({ draft, replay }, () => {
      if (replay !== undefined) unsent.delete(replay.key);
    });
    if (!kept) throw failure;
    if (replay !== undefined) unsent.set(replay.key, replay);
    options.overlayHere(key, overlays, draft);
    return { response, replayed: false };
  }

  /** A command that cannot be carried out leaves an entry, too. One that was never understood does not. */
  async function noteRefusal(request: ControlRequest, context: CommandContext, error: RdcpError): Promise<void> {
    const draft = refusalDraft(request, context, error);
    if (options.outage() !== undefined || !(await writer.written({ draft }))) writer.writeLater({ draft });
  }

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      delay(milliseconds, resolve);
    });
  }

  async function carryOut(given: readonly Command[]): Promise<void> {
    let waiting: readonly Command[] = given;
    let fruitless = 0;
    while (waiting.length > 0 && fruitless < MAX_ATTEMPTS) {
      if (fruitless >= EAGER_ATTEMPTS) await pause(random() * MAX_BACKOFF_MS);
      const left = await attempt(waiting);
      fruitless = left.length < waiting.length ? 0 : fruitless + 1;
      waiting = left;
    }
    for (const { reject } of waiting) {
      reject(contended());
    }
  }

  return {
    /** Resolves when all of them are answered. Never rejects. */
    async run(commands: readonly Command[]): Promise<void> {
      try {
        const open = commands.filter((command) => !answeredHere(command));
        const outage = options.outage();
        if (outage !== undefined) throw outage;
        await carryOut(open);
      } catch (error) {
        // Those that are answered have been told something else.
        for (const { reject } of commands) reject(error);
      }
    },

    /**
     * What comes of a command that failed: where the store did, it may still hold in this process.
     * @throws {RdcpError} with nothing changed
     */
    async afterFailure(request: ControlRequest, context: CommandContext, error: unknown): Promise<ControlOutcome> {
      try {
        if (!isRdcpError(error) || error.code !== 'RDCP_UNAVAILABLE') throw error;
        return applyHere(request, context, error);
      } catch (refusal) {
        if (isRdcpError(refusal) && REFUSALS.has(refusal.code)) await noteRefusal(request, context, refusal);
        throw refusal;
      }
    },
  };
}

/** What a command that was understood may be refused for by the state it meets. */
const REFUSALS: ReadonlySet<string> = new Set(['RDCP_CATEGORY_NOT_FOUND', 'RDCP_TEMPORARY_LIMIT']);

/** The kept answer, for the same request; the same id with another request is refused. */
function repeat({ context, resolve, reject }: Command, kept: ReplayRecord): void {
  if (kept.fingerprint === context.replay?.fingerprint)
    resolve({ response: JSON.parse(kept.response), replayed: true });
  else reject(reused());
}

function contended(): RdcpError {
  return unavailable('Others keep changing the same state, so nothing was changed');
}

export function reused(): RdcpError {
  return new RdcpError('RDCP_REQUEST_ID_REUSED', 'The request id was used for another request');
}
