import type { AuditRecorder, Sealed } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { isRdcpError, RdcpError, unavailable } from '../errors.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ControlResponse } from '../protocol/messages.ts';
import {
  type Commit,
  type CommitResult,
  GLOBAL_SCOPE,
  type ReplayRecord,
  type ScopeKey,
  type Settings,
  type StateStore,
} from '../store/state-store.ts';
import type { Announcer } from './announcer.ts';
import { commandDraft, controlResponse, isDryRun, refusalDraft, replayRecord } from './answers.ts';
import type { Follower } from './follower.ts';
import type { GateBinding } from './gate-binding.ts';
import { LocalControls, type LocalControlsOptions } from './local-controls.ts';
import type { ScopeStates } from './scope-states.ts';
import { type Snapshot, transition } from './transition.ts';
import type { CommandContext, ControlOutcome, Write, Writer } from './types.ts';

/** A control request that waits for its answer. */
export interface Command extends Required<Pick<Write, 'whenKept'>> {
  readonly request: ControlRequest;
  readonly context: CommandContext;
  resolve(outcome: ControlOutcome): void;
  /** Called when nothing was changed. */
  reject(error: unknown): void;
}

export interface CommandsOptions extends Omit<LocalControlsOptions, 'writer'> {
  readonly store: Pick<StateStore, 'commit' | 'commitAll' | 'findReplay'>;
  readonly audit: AuditRecorder;
  readonly states: ScopeStates;
  readonly binding: GateBinding;
  readonly announcer: Announcer;
  readonly follower: Follower;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** How often commands are recomputed when other processes keep changing the scope. */
const MAX_ATTEMPTS = 64;
/** Retries that follow at once. Later ones wait a random time, so that processes do not collide again. */
const EAGER_ATTEMPTS = 4;
const MAX_BACKOFF_MS = 50;

/** Errors that depend on the state at the time of the command, not on its syntax. */
const REFUSALS: ReadonlySet<string> = new Set(['RDCP_CATEGORY_NOT_FOUND', 'RDCP_TEMPORARY_LIMIT']);

/** A computed command, ready to be written. */
interface Planned extends Write {
  readonly command: Command;
  readonly response: ControlResponse;
}

/** Carries out control requests in order, batched as far as the store supports it. */
export class Commands implements Writer {
  /** Handles control requests while the store is unreachable. */
  readonly local: LocalControls;
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.local = new LocalControls({ ...options, writer: this });
  }

  /** Resolves when every command is answered. Never rejects. */
  async run(commands: readonly Command[]): Promise<void> {
    try {
      let waiting: readonly Command[] = commands.filter((command) => !this.#isRepeat(command));
      if (!this.#options.follower.reachable) throw storeFailure(undefined);
      for (let conflicts = 0; waiting.length > 0; ) {
        if (conflicts === MAX_ATTEMPTS) throw contended();
        if (conflicts >= EAGER_ATTEMPTS) await this.#pause();
        const left = await this.#attempt(waiting);
        conflicts = left.length < waiting.length ? 0 : conflicts + 1;
        waiting = left;
      }
    } catch (error) {
      // Commands that are already answered ignore this.
      for (const { reject } of commands) reject(error);
    }
  }

  /**
   * The outcome of a command that failed. When the store failed, the command may still apply to this process.
   * @throws {RdcpError} when nothing was changed
   */
  async afterFailure(request: ControlRequest, context: CommandContext, error: unknown): Promise<ControlOutcome> {
    if (isDryRun(request)) throw error;
    try {
      if (!isRdcpError(error) || error.code !== 'RDCP_UNAVAILABLE') throw error;
      return this.local.apply(request, context, error);
    } catch (refusal) {
      // A command that cannot be carried out leaves an entry too. A malformed one does not.
      if (isRdcpError(refusal) && REFUSALS.has(refusal.code)) {
        await this.note({ draft: refusalDraft(request, context, refusal) });
      }
      throw refusal;
    }
  }

  async write(write: Write): Promise<CommitResult> {
    const [result] = await this.#writeAll([write], this.#options.clock.now());
    return result as CommitResult;
  }

  async note({ draft, replay }: Omit<Write, 'state' | 'whenKept'>): Promise<void> {
    try {
      if (!this.#options.follower.reachable) throw storeFailure(undefined);
      await this.write({ draft, replay });
    } catch {
      this.#options.audit.defer({ draft, replay });
    }
  }

  /** Computes, writes and answers commands; returns those to recompute. */
  async #attempt(waiting: readonly Command[]): Promise<readonly Command[]> {
    const { binding, states, clock } = this.#options;
    const refused: Promise<void>[] = [];
    let planned: readonly Planned[] = [];
    let results: readonly CommitResult[] = [];
    try {
      binding.sweep();
      if (states.unsettled.size > 0) await this.#reconcile(waiting);
      const now = clock.now();
      planned = this.#compute(waiting, now, refused);
      if (planned.length > 0) results = await this.#writeAll(planned, now);
    } catch (error) {
      const failed = planned.length > 0 ? planned.map(({ command }) => command) : waiting;
      for (const { reject } of failed) reject(error);
      planned = [];
    }
    const answered = results.filter((result, index) => answer(planned[index] as Planned, result)).length;
    await Promise.all(refused);
    return planned.slice(answered).map(({ command }) => command);
  }

  /** Computes each command on the state that the previous ones will leave. */
  #compute(waiting: readonly Command[], now: number, refused: Promise<void>[]): readonly Planned[] {
    const { binding, states } = this.#options;
    const staged = new Staged(states);
    const planned: Planned[] = [];
    for (const command of waiting) {
      const { request, context, whenKept } = command;
      const { key } = context.scope;
      try {
        const snapshot = binding.snapshot(key);
        const next = transition(
          planned.length === 0 ? snapshot : staged.over(key, snapshot),
          request,
          now,
          context.identity,
        );
        const response = controlResponse(request, next, 'success', now, context);
        if (isDryRun(request)) {
          command.resolve({ response, replayed: false });
          continue;
        }
        const draft = commandDraft(request, context, next, 'success');
        const replay = replayRecord(context, response, now);
        const state = request.action === 'status' ? undefined : staged.change(key, next.settings);
        planned.push({ command, response, draft, whenKept, replay, ...(state && { state }) });
      } catch (error) {
        refused.push(this.#refuse(command, error));
      }
    }
    return planned;
  }

  /**
   * Writes in order, up to the first write that the store rejects; its result is then the last one. Committed writes
   * are in force when this returns.
   * @throws {RdcpError} `RDCP_UNAVAILABLE`, or the store's own error; nothing is changed then
   */
  async #writeAll(writes: readonly Write[], now: number): Promise<readonly CommitResult[]> {
    const { follower, announcer } = this.#options;
    announcer.holding = true;
    try {
      const sealed = await this.#seal(writes);
      const results = await this.#commit(writes, sealed, now);
      try {
        this.#adopt(writes, results, now);
      } finally {
        sealed.done(results);
      }
      return results;
    } catch (error) {
      follower.failed();
      throw error;
    } finally {
      announcer.release();
    }
  }

  async #seal(writes: readonly Write[]): Promise<Sealed> {
    try {
      return await this.#options.audit.seal(writes);
    } catch (error) {
      if (isRdcpError(error)) throw error;
      const message = 'The change could not be audited, so it was not applied';
      throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', message, { cause: error });
    }
  }

  async #commit(writes: readonly Write[], sealed: Sealed, now: number): Promise<readonly CommitResult[]> {
    const { store } = this.#options;
    try {
      const commits: Commit[] = [];
      for (const [index, audit] of sealed.entries.entries()) {
        const { state, replay } = writes[index] as Write;
        commits.push({ ...(state && { state }), audit, ...(replay && { replay }), now, syncLater: true });
      }
      return (await store.commitAll?.(commits)) ?? [await store.commit(commits[0] as Commit)];
    } catch (error) {
      sealed.failed(error);
      throw storeFailure(error);
    }
  }

  /** Applies the store's results to the state and the gate. */
  #adopt(writes: readonly Write[], results: readonly CommitResult[], now: number): void {
    const { binding } = this.#options;
    for (const [index, result] of results.entries()) {
      const { state, draft } = writes[index] as Write;
      if (state === undefined) continue;
      const { scope, expectedRevision, settings } = state;
      if (result.outcome === 'conflict') binding.adopt(scope, result.current, { expectedRevision });
      if (result.outcome !== 'committed') continue;
      const revision = result.revision ?? expectedRevision + 1;
      binding.adopt(scope, { revision, settings, changedAt: now }, { draft, expectedRevision });
    }
  }

  /** Answers a retry from the local answers; returns whether it did. */
  #isRepeat(command: Command): boolean {
    const { replay } = command.context;
    const kept = replay && this.local.answers.get(replay.key);
    if (kept === undefined || kept.expiresAt <= this.#options.clock.now()) return false;
    repeat(command, kept);
    return true;
  }

  /**
   * A commit detects a retry by itself. A command that cannot be carried out any more never reaches a commit, so the
   * store is asked for an earlier answer.
   */
  async #refuse(command: Command, error: unknown): Promise<void> {
    const { store, clock, follower } = this.#options;
    const { context, reject } = command;
    try {
      const earlier = context.replay && (await store.findReplay(context.replay.key, clock.now()));
      if (earlier === undefined) reject(error);
      else repeat(command, earlier);
    } catch (failure) {
      follower.failed();
      reject(storeFailure(failure));
    }
  }

  /**
   * Makes sure that commands are computed on what the store holds.
   * @throws {RdcpError} when local controls remain
   */
  async #reconcile(commands: readonly Command[]): Promise<void> {
    const { states } = this.#options;
    for (const key of new Set([GLOBAL_SCOPE, ...commands.map(({ context }) => context.scope.key)])) {
      if (states.unsettled.has(key)) await this.local.reconcile(key);
      if (states.local(key).size > 0) throw contended();
    }
  }

  #pause(): Promise<void> {
    const { delay, random } = this.#options;
    return new Promise((resolve) => {
      delay(random() * MAX_BACKOFF_MS, resolve);
    });
  }
}

/** The scopes as they will be once the staged changes are written. */
class Staged {
  readonly #states: ScopeStates;
  readonly #changes = new Map<ScopeKey, NonNullable<Write['state']>>();

  constructor(states: ScopeStates) {
    this.#states = states;
  }

  over(key: ScopeKey, snapshot: Snapshot): Snapshot {
    const { global, tenant } = snapshot;
    return {
      ...snapshot,
      global: this.#changes.get(GLOBAL_SCOPE)?.settings ?? global,
      tenant: tenant && (this.#changes.get(key)?.settings ?? tenant),
    };
  }

  change(scope: ScopeKey, settings: Settings): NonNullable<Write['state']> {
    const before = this.#changes.get(scope)?.expectedRevision;
    const expectedRevision = before === undefined ? this.#states.stored(scope).revision : before + 1;
    const change = { scope, expectedRevision, settings: this.#states.pack(scope, settings) };
    this.#changes.set(scope, change);
    return change;
  }
}

/** Returns false on a conflict: the command must be recomputed. */
function answer({ command, response, replay }: Planned, result: CommitResult): boolean {
  if (result.outcome === 'conflict') return false;
  if (result.outcome === 'replayed') {
    repeat(command, result.replay);
    return true;
  }
  const { position, durable } = result;
  const json = replay?.response;
  command.resolve({ response, json, replayed: false, ...(position && { position }), ...(durable && { durable }) });
  return true;
}

/** Sends the stored answer for the same request; rejects the same id with a different request. */
function repeat({ context, resolve, reject }: Command, kept: ReplayRecord): void {
  if (kept.fingerprint === context.replay?.fingerprint) {
    resolve({ response: JSON.parse(kept.response), replayed: true });
  } else reject(reused());
}

export function reused(): RdcpError {
  return new RdcpError('RDCP_REQUEST_ID_REUSED', 'The request id was used for another request');
}

function contended(): RdcpError {
  return unavailable('Others keep changing the same state, so nothing was changed');
}

/** Maps an error of the store to what the client sees. A store may throw an `RdcpError` of its own. */
function storeFailure(error: unknown): RdcpError {
  return isRdcpError(error) ? error : unavailable('The store is unavailable, so nothing was changed', error);
}
