import type { Clock, Delay } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ControlResponse } from '../protocol/messages.ts';
import type { Overlay, ReplayRecord, ScopeKey, Settings, StateStore } from '../store/state-store.ts';
import { commandDraft, replayRecord } from './drafts.ts';
import type { Expiry } from './expiry.ts';
import type { Ledger } from './ledger.ts';
import { controlResponse } from './response.ts';
import { putSetting } from './state.ts';
import { overlaySeconds, type Situation, type Transition, transition } from './transition.ts';
import type { CommandContext, ControlOutcome } from './types.ts';
import { storeFailure, unavailable, type Writer } from './writer.ts';

/** How often a command whose scope others keep changing is computed again. */
const MAX_ATTEMPTS = 64;
/** As many of them follow at once; then each waits a little, so that a crowd of processes gets out of each other's way. */
const EAGER_ATTEMPTS = 4;
const MAX_BACKOFF_MS = 50;

export interface CommandsOptions {
  readonly store: Pick<StateStore, 'findReplay'>;
  readonly ledger: Ledger;
  readonly writer: Writer;
  readonly expiry: Expiry;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly securityLevel: SecurityLevel;
  readonly situationOf: (key: ScopeKey) => Situation;
  /** Ends what is over, for the gate and for what is computed. */
  readonly sweep: () => void;
  /** Makes the gate follow. */
  readonly apply: (key: ScopeKey, categories: Iterable<string>) => void;
  /** What keeps the store from being asked now; `undefined` while nothing does. */
  readonly outage: () => RdcpError | undefined;
  /** Called when the store did not answer. */
  readonly failed: () => void;
}

/** Carries out control requests, one at a time. */
export function createCommands(options: CommandsOptions) {
  const { store, ledger, writer, expiry, clock, delay, random, securityLevel, situationOf, sweep, apply } = options;
  /** Answers that hold in this process alone, until the store has them. */
  const unsent = new Map<string, ReplayRecord>();

  /** The answer that was given to this request before. */
  async function earlierAnswer({ replay }: CommandContext): Promise<ReplayRecord | undefined> {
    if (replay === undefined) return undefined;
    const own = unsent.get(replay.key);
    if (own !== undefined && own.expiresAt > clock.now()) return own;
    assertReachable();
    try {
      return await store.findReplay(replay.key, clock.now());
    } catch (error) {
      options.failed();
      throw storeFailure(error);
    }
  }

  function assertReachable(): void {
    const outage = options.outage();
    if (outage !== undefined) throw outage;
  }

  /** `undefined` when others changed the scope each time before us. */
  async function applyEverywhere(
    request: ControlRequest,
    context: CommandContext,
  ): Promise<ControlOutcome | undefined> {
    const { key } = context.scope;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (attempt >= EAGER_ATTEMPTS) await pause(random() * MAX_BACKOFF_MS);
      sweep();
      if (ledger.overdue.has(key)) await expiry.settle(key);
      const { revision: expectedRevision } = ledger.stored(key);
      const now = clock.now();
      const next = transition(situationOf(key), request, now);
      const response = controlResponse(request, next, 'success', now, context.tenant);
      const settings = request.action === 'status' ? undefined : settingsToKeep(key, next);
      const result = await writer.write({
        draft: commandDraft(request, context, next, 'success'),
        ...(settings && { state: { key, expectedRevision, settings } }),
        replay: replayRecord(context, response, now),
      });
      if (result.outcome === 'replayed') return repeated(result.replay, context);
      if (result.outcome === 'conflict') continue;
      if (settings !== undefined && ledger.here(key).size > 0) {
        ledger.dropHere(key, next.categories);
        apply(key, next.categories);
      }
      const { position, durable } = result;
      return { response, replayed: false, ...(position && { position }), ...(durable && { durable }) };
    }
    return undefined;
  }

  /** What is in force in this process alone is not for the others, except where the command says so. */
  function settingsToKeep(key: ScopeKey, { categories, settings }: Transition): Settings {
    if (ledger.here(key).size === 0) return settings;
    const kept = new Map(ledger.stored(key).settings);
    for (const category of categories) putSetting(kept, category, settings.get(category) ?? {});
    return kept;
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
    ledger.overlayHere(key, overlays);
    apply(key, overlays.keys());
    return { response, replayed: false };
  }

  /** A command that cannot be carried out leaves an entry, too. One that was never understood does not. */
  async function noteRefusal(request: ControlRequest, context: CommandContext, error: RdcpError): Promise<void> {
    const refused = { categories: request.categories ?? [], changes: [] };
    const draft = { ...commandDraft(request, context, refused, 'failed'), error: error.code };
    if (options.outage() !== undefined || !(await writer.written({ draft }))) writer.writeLater({ draft });
  }

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      delay(milliseconds, resolve);
    });
  }

  async function carryOut(request: ControlRequest, context: CommandContext): Promise<ControlOutcome | undefined> {
    try {
      const earlier = await earlierAnswer(context);
      if (earlier !== undefined) return repeated(earlier, context);
      assertReachable();
      return await applyEverywhere(request, context);
    } catch (error) {
      if (!isRdcpError(error) || error.code !== 'RDCP_UNAVAILABLE') throw error;
      return applyHere(request, context, error);
    }
  }

  return {
    /** @throws {RdcpError} with nothing changed */
    async run(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
      let outcome: ControlOutcome | undefined;
      try {
        outcome = await carryOut(request, context);
      } catch (error) {
        if (isRdcpError(error) && REFUSALS.has(error.code)) await noteRefusal(request, context, error);
        throw error;
      }
      if (outcome === undefined) throw unavailable('Others keep changing the same state, so nothing was changed');
      return outcome;
    },
  };
}

/** What a command that was understood may be refused for by the state it meets. */
const REFUSALS: ReadonlySet<string> = new Set(['RDCP_CATEGORY_NOT_FOUND', 'RDCP_TEMPORARY_LIMIT']);

/** The kept answer, for the same request; the same id with another request is refused. */
function repeated(kept: ReplayRecord, { replay }: CommandContext): ControlOutcome {
  if (kept.fingerprint !== replay?.fingerprint) throw reused();
  const response: ControlResponse = JSON.parse(kept.response);
  return { response, replayed: true };
}

export function reused(): RdcpError {
  return new RdcpError('RDCP_REQUEST_ID_REUSED', 'The request id was used for another request');
}
