import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type IssuedTicket, issueDocument, issueTicket } from '../access/tickets/issue.ts';
import { TICKET_ENTRY, ticketHash } from '../access/tickets/ticket.ts';
import {
  type CommitResult,
  GLOBAL_SCOPE,
  type Overlay,
  type ReplayRecord,
  type ScopeKey,
} from '../store/state-store.ts';
import type { AuditDraft } from '../trail/types.ts';
import type { AuditEntry, AuditOutcome } from '../wire/audit-messages.ts';
import { EVERYBODY, PROTOCOL, REPLAY_WINDOW_MS } from '../wire/constants.ts';
import type { ControlRequest } from '../wire/control-request.ts';
import { decodeJson } from '../wire/decode.ts';
import { isOutcomeUnknown, isRdcpError, isUnwritten, outcomeUnknown, type RdcpError } from '../wire/errors.ts';
import type { ControlResponse, RequestTicket } from '../wire/messages.ts';
import { timestamp } from '../wire/time.ts';
import { activationText } from '../wire/words/activation.ts';
import { staysOff } from '../wire/words/change.ts';
import { type ActivationSources, activationOf, auditedActivation, endText, shownActivation } from './activation.ts';
import { assertMayChange, type Intended } from './allow.ts';
import type { GateOptions } from './gate-binding.ts';
import { LocalControls } from './local-controls.ts';
import type { PlaneParts } from './plane.ts';
import { CHANGE_REFUSALS, MAX_REFUSED_NAMES } from './refusals.ts';
import { type CommandEffect, isActivating, overlaySeconds, transition, UNTICKETED } from './transition.ts';
import type { CommandContext, ControlOutcome, Write } from './types.ts';

type CommandsOptions = Omit<PlaneParts, keyof GateOptions>;

/** How long a command may take, in milliseconds: until then it is recomputed after a change by another process. */
const DEADLINE_MS = 2000;
/** Retries that follow at once. Later ones wait a random time, so that processes do not collide again. */
const EAGER_ATTEMPTS = 4;
const MAX_BACKOFF_MS = 50;
/** Requests whose outcome is unknown and remembered, at most; the oldest ones are forgotten. */
const MAX_UNKNOWN = 1000;
const UNKNOWN = '';

/** Errors that depend on the state at the time of the command, not on its syntax. */
const REFUSALS: ReadonlySet<string> = new Set(['RDCP_CATEGORY_NOT_FOUND', 'RDCP_TEMPORARY_LIMIT']);

export class Commands {
  readonly local: LocalControls;
  readonly #options: CommandsOptions;
  /** Answers given while the store was unreachable, until the store has them, and {@link UNKNOWN} ones. */
  readonly #answers = new Map<string, ReplayRecord>();

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.local = new LocalControls({ ...options, writer: this });
  }

  /**
   * Carries out a command. A temporary control applies to this process alone when the store is unreachable.
   * @throws {RdcpError} when nothing was changed, or it is unknown whether anything was
   */
  async run(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    try {
      return await this.#carryOut(request, context);
    } catch (error) {
      if (isDryRun(request) || isSigning(request)) throw error;
      return this.#afterFailure(request, context, error);
    }
  }

  async #carryOut(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const { follower, clock } = this.#options;
    const kept = context.replay && this.#answers.get(context.replay.key);
    const isKept = kept !== undefined && kept.expiresAt > clock.now();
    if (isKept && kept.response !== UNKNOWN) return { ...repeat(context, kept), local: true };
    if (!follower.reachable) throw isKept ? outcomeUnknown() : CHANGE_REFUSALS.storeAway();
    const end = clock.monotonic() + DEADLINE_MS;
    for (let repeats = isKept ? 1 : 0; ; repeats++) {
      try {
        return await this.#untilDone(request, context, end);
      } catch (error) {
        if (!isOutcomeUnknown(error)) {
          // Whatever fails of a repeat, that of the first is not known yet.
          const isOpen = repeats > 0 && isRdcpError(error) && error.status >= 500;
          throw isOpen ? outcomeUnknown(error) : error;
        }
        if (context.replay === undefined) throw error;
        this.#noteUnknown(context.replay);
        // The same again: the store tells its answer if it was carried out, and carries it out otherwise.
        if (repeats > 0 || !(await this.#answersAgain(end))) throw error;
      }
    }
  }

  async #untilDone(request: ControlRequest, context: CommandContext, end: number): Promise<ControlOutcome> {
    const { clock } = this.#options;
    for (let attempt = 0; ; attempt++) {
      const began = clock.monotonic();
      if (attempt >= EAGER_ATTEMPTS) await this.#sleep(this.#options.random() * MAX_BACKOFF_MS);
      const outcome = await (isSigning(request) ? this.#sign(request, context) : this.#attempt(request, context));
      if (outcome !== undefined) {
        if (context.replay !== undefined) this.#answers.delete(context.replay.key);
        return outcome;
      }
      const now = clock.monotonic();
      if (now + (now - began) > end) throw CHANGE_REFUSALS.contended();
    }
  }

  /** A repeat is not applied to this process alone: it may be in force everywhere. */
  #noteUnknown(replay: NonNullable<CommandContext['replay']>): void {
    const now = this.#options.clock.now();
    const unknown = [...this.#answers.values()].filter(({ response }) => response === UNKNOWN);
    const over = unknown.filter(({ expiresAt }, index) => expiresAt <= now || index <= unknown.length - MAX_UNKNOWN);
    for (const { key } of over) this.#answers.delete(key);
    this.#answers.set(replay.key, { expiresAt: now + REPLAY_WINDOW_MS, ...replay, response: UNKNOWN });
  }

  async #answersAgain(end: number): Promise<boolean> {
    const { follower, clock } = this.#options;
    for (;;) {
      await Promise.race([follower.read(), this.#sleep(end - clock.monotonic())]);
      const left = end - clock.monotonic();
      if (follower.reachable || left <= 0) return follower.reachable;
      await this.#sleep(Math.min(left, MAX_BACKOFF_MS));
    }
  }

  /** Computes, writes and answers a command; `undefined` when another process changed the scope meanwhile. */
  async #attempt(request: ControlRequest, context: CommandContext): Promise<ControlOutcome | undefined> {
    const { binding, states, clock, store, cluster } = this.#options;
    const { key } = context.scope;
    binding.sweep();
    if (states.unsettled.size > 0) await this.#reconcile(key);
    const now = clock.now();
    const snapshot = { ...binding.snapshot(key), early: context.early };
    let next: CommandEffect;
    let ticket: IssuedTicket | undefined;
    const ticketFor: ActivationSources['ticketFor'] = (about) => {
      // A service that verifies a ticket does not know which processes it is for, so the store has to.
      const signer = request.options?.otelrdcp_target?.instances === undefined ? this.#options.ticketSigner : undefined;
      const tenant = addressedTenant(context);
      ticket = issueTicket({ ...about, ...(tenant !== undefined && { tenantId: tenant }) }, now, signer);
      return ticketHash(ticket.value);
    };
    try {
      next = transition(snapshot, request, now, context.identity, { randomUUID, ticketFor, until: context.until });
    } catch (error) {
      return this.#earlierAnswer(context, error);
    }
    assertAllowed(context, { request, snapshot, next });
    const alone = cluster?.isMember === true && !store.shared ? NOT_SHARED : undefined;
    const response = controlResponse(request, next, alone, { ...context, shared: store.shared });
    if (isDryRun(request)) return { response, replayed: false };
    const draft = commandDraft(request, context, next, 'success');
    const replay = replayRecord(context, response, now);
    const { settings, activations } = next;
    const state = { scope: key, expectedRevision: snapshot.revision, settings, activations };
    const result = await this.#write({ draft, replay, ...(request.action !== 'status' && { state }) }, now);
    if (result.outcome === 'conflict') return undefined;
    if (result.outcome === 'replayed') return repeat(context, result.replay);
    const written = { replayed: false, ...(result.position && { position: result.position }) };
    // A ticket is a credential, and not kept with the answer.
    if (ticket !== undefined) return { response: { ...response, otelrdcp_request: shownTicket(ticket) }, ...written };
    return { response, ...written };
  }

  /**
   * Signs a control instead of making it, for processes that follow documents. Nothing is written but the entry and the answer.
   * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` without `security.tokens`
   */
  async #sign(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const { binding, clock, ticketSigner } = this.#options;
    const { identity, scope } = context;
    if (ticketSigner === undefined) throw CHANGE_REFUSALS.noSigner();
    const now = clock.now();
    const snapshot = binding.snapshot(scope.key);
    const { categories = [] } = request;
    const seconds = overlaySeconds(request, snapshot.limits) ?? snapshot.limits.defaultDuration;
    // Documents say their ends in seconds.
    const expiresAt = Math.floor(now / 1000 + seconds) * 1000;
    const activation = activationOf(request, categories, expiresAt, undefined, UNTICKETED);
    const signed: CommandEffect = {
      at: timestamp(now),
      categories,
      changes: [],
      settings: snapshot.tenant ?? snapshot.global,
      activations: [],
      activation,
      summary: `Signed ${activationText(activation, { values: true })} ${endText(activation)}`,
    };
    assertAllowed(context, { request, snapshot, next: signed });
    const value = issueDocument(
      activation,
      { request, tenantId: addressedTenant(context), by: identity.userId },
      now,
      ticketSigner,
    );
    const response: ControlResponse = {
      ...controlResponse(request, { ...signed, activation: undefined }, undefined, { ...context, shared: true }),
      otelrdcp_document: { id: activation.id, value, expiresAt: timestamp(expiresAt) },
    };
    const draft: AuditDraft = { ...commandDraft(request, context, signed, 'success'), action: 'sign' };
    const result = await this.#write({ draft, replay: replayRecord(context, response, now) }, now);
    return result.outcome === 'replayed' ? repeat(context, result.replay) : { response, replayed: false };
  }

  /**
   * Reconciles before a command is computed, so that it is computed on what the store holds.
   * @throws {RdcpError} when local controls remain
   */
  async #reconcile(scope: ScopeKey): Promise<void> {
    const { states } = this.#options;
    for (const key of new Set([GLOBAL_SCOPE, scope])) {
      if (states.unsettled.has(key)) {
        await this.local.reconcile(key).catch((error: unknown) => {
          // Whatever became of that, the command itself was not sent.
          throw CHANGE_REFUSALS.storeAway(isOutcomeUnknown(error) ? undefined : error);
        });
      }
      if (states.local(key).size > 0) throw CHANGE_REFUSALS.contended();
    }
  }

  /**
   * A commit detects a retry by itself. A command that cannot be carried out any more never reaches a commit, so the
   * store is asked for an earlier answer.
   * @throws the given error when there is none
   */
  async #earlierAnswer(context: CommandContext, error: unknown): Promise<ControlOutcome> {
    const { store, clock, follower } = this.#options;
    if (context.replay === undefined) throw error;
    const earlier = await store.findReplay(context.replay.key, clock.now()).catch((failure: unknown) => {
      follower.failed();
      throw CHANGE_REFUSALS.storeAway(failure);
    });
    if (earlier === undefined) throw error;
    return repeat(context, earlier);
  }

  /** A command that cannot be carried out leaves an audit entry too. A malformed one does not. */
  async #afterFailure(request: ControlRequest, context: CommandContext, error: unknown): Promise<ControlOutcome> {
    try {
      if (!isRdcpError(error) || error.code !== 'RDCP_UNAVAILABLE' || isOutcomeUnknown(error)) throw error;
      return this.#applyHere(request, context, error);
    } catch (refusal) {
      if (isRdcpError(refusal) && REFUSALS.has(refusal.code)) {
        await this.note({ draft: refusalDraft(request, context, refusal) });
      }
      throw refusal;
    }
  }

  /**
   * Applies a temporary control to this process although the store is unreachable. Permanent changes are rejected, and
   * at level enterprise every change.
   * @throws {RdcpError} `failure` when the command cannot be applied here
   */
  #applyHere(request: ControlRequest, context: CommandContext, failure: RdcpError): ControlOutcome {
    const { binding, clock, securityLevel, store } = this.#options;
    const { key } = context.scope;
    binding.sweep();
    const snapshot = binding.snapshot(key);
    if (overlaySeconds(request, snapshot.limits) === undefined || securityLevel === 'enterprise') throw failure;
    // An activation is for all processes, which learn of it from the store.
    if (isActivating(request)) throw failure;
    const now = clock.now();
    const next = transition(snapshot, request, now, context.identity);
    assertAllowed(context, { request, snapshot, next });
    // What only other processes have cannot be switched here.
    if (!next.categories.some((name) => binding.defaults.has(name))) throw failure;
    const overlays = new Map<string, Overlay>();
    for (const category of next.categories) {
      const overlay = next.settings.get(category)?.temporary;
      if (overlay !== undefined) overlays.set(category, overlay);
    }
    const response = controlResponse(request, next, STORE_AWAY, { ...context, shared: store.shared });
    const replay = replayRecord(context, response, now);
    const draft = commandDraft(request, context, next, 'partial');
    const kept = () => {
      if (replay !== undefined) this.#answers.delete(replay.key);
    };
    if (!this.local.add(key, { overlays, draft, replay, kept })) throw failure;
    if (replay !== undefined) this.#answers.set(replay.key, replay);
    return { response, replayed: false, local: true };
  }

  /** @throws {RdcpError} when nothing was changed, or it is unknown whether anything was */
  async write(write: Write): Promise<CommitResult> {
    const result = await this.#write(write, this.#options.clock.now());
    await this.#options.store.sync?.();
    return result;
  }

  /**
   * Waits until what was carried out survives a power loss. The next command does not wait for that.
   * @throws {RdcpError} when it is unknown whether it does
   */
  async sync({ replay }: CommandContext): Promise<void> {
    try {
      await this.#options.store.sync?.();
    } catch (cause) {
      if (replay !== undefined) this.#noteUnknown(replay);
      throw outcomeUnknown(cause);
    }
  }

  /** Writes an entry that changes no state; defers it while the store is away. Never rejects. */
  async note({ draft, replay }: Omit<Write, 'state'>): Promise<void> {
    try {
      if (!this.#options.follower.reachable) throw CHANGE_REFUSALS.storeAway();
      await this.write({ draft, replay });
    } catch {
      this.#options.audit.defer({ draft, replay });
    }
  }

  async #write(write: Write, now: number): Promise<CommitResult> {
    const { follower, announcer, audit } = this.#options;
    announcer.holding = true;
    let isAudited = false;
    try {
      return await audit.append(write.draft, (entry) => {
        isAudited = true;
        return this.#commit(write, entry, now);
      });
    } catch (error) {
      follower.failed();
      throw isAudited || isRdcpError(error) ? error : CHANGE_REFUSALS.unaudited(error);
    } finally {
      announcer.release();
    }
  }

  async #commit(write: Write, audit: AuditEntry, now: number): Promise<CommitResult> {
    const { state, replay } = write;
    const { store } = this.#options;
    const result = await store
      .commit({ ...(state && { state }), audit, ...(replay && { replay }), now, syncLater: store.sync !== undefined })
      .catch((error: unknown) => {
        throw isUnwritten(error) ? CHANGE_REFUSALS.storeAway(error) : outcomeUnknown(error);
      });
    this.#adopt(write, result, now);
    return result;
  }

  #adopt({ state, draft }: Write, result: CommitResult, now: number): void {
    if (state === undefined || result.outcome === 'replayed') return;
    const { binding } = this.#options;
    const { scope, expectedRevision, settings, activations } = state;
    if (result.outcome === 'conflict') binding.adopt(scope, result.current, { expectedRevision });
    else {
      const revision = result.revision ?? expectedRevision + 1;
      binding.adopt(scope, { revision, settings, activations, changedAt: now }, { draft, expectedRevision });
    }
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.delay(milliseconds, resolve);
    });
  }
}

/** @throws {RdcpError} `RDCP_FORBIDDEN` for a change beyond what the credential allows */
function assertAllowed({ allow, identity, scope }: CommandContext, change: Omit<Intended, 'tenantId'>): void {
  if (allow !== undefined) assertMayChange({ allow, method: identity.method }, { ...change, tenantId: scope.tenantId });
}

const keptResponse = z.custom<ControlResponse>((value) => typeof value === 'object' && value !== null);

/** The stored answer for the same request. @throws {RdcpError} when the id was used for a different one */
function repeat({ replay }: CommandContext, kept: ReplayRecord): ControlOutcome {
  if (kept.fingerprint !== replay?.fingerprint) throw CHANGE_REFUSALS.reused();
  return keptOutcome(kept);
}

/** @throws {RdcpError} when what was kept is no answer */
export function keptOutcome(kept: ReplayRecord): ControlOutcome {
  const response = decodeJson(keptResponse, kept.response);
  if (response === undefined) throw CHANGE_REFUSALS.malformedAnswer();
  return { response, replayed: true };
}

const NOT_SHARED = ', in this process alone: the processes of this cluster share no state';
const STORE_AWAY = ', in this process alone until the store is available again';

/**
 * The answer to a control request that was applied.
 * @param alone appended to the message: why the change is known to apply to this process alone
 */
function controlResponse(
  request: ControlRequest,
  { at, categories, changes, activation, summary }: CommandEffect,
  alone: typeof NOT_SHARED | typeof STORE_AWAY | undefined,
  { tenant, tenantKnown, scope, shared }: CommandContext & { readonly shared: boolean },
): ControlResponse {
  const { action } = request;
  const dryRun = isDryRun(request);
  const stays = tenant && staysOff({ action, changes, tenant });
  const message = `${summary}${stays === undefined ? '' : `; ${stays.text}`}${dryRun ? ' (dry run: nothing was changed)' : ''}`;
  return {
    protocol: PROTOCOL,
    timestamp: at,
    ...(tenant !== undefined && { tenant }),
    action,
    categories,
    status: alone === undefined ? 'success' : 'partial',
    message: `${message}${alone ?? ''}`,
    changes,
    ...(activation !== undefined && {
      otelrdcp_activation: shownActivation(activation, scope.tenantId, { values: isActivating(request), maker: true }),
    }),
    ...(dryRun && { otelrdcp_dryRun: true }),
    ...(tenantKnown === false && { otelrdcp_tenantKnown: false }),
    ...(!shared && alone === undefined && action !== 'status' && { otelrdcp_shared: false }),
  };
}

function shownTicket({ value, expiresAt }: IssuedTicket): RequestTicket {
  return { baggage: `${TICKET_ENTRY}=${value}`, expiresAt: timestamp(expiresAt) };
}

/** A dry run computes the answer only: it changes nothing, is not audited, and its answer is not kept for retries. */
function isDryRun({ options }: ControlRequest): boolean {
  return options?.otelrdcp_dryRun === true;
}

/** Signs a document for other processes, and changes nothing here. */
function isSigning({ options }: ControlRequest): boolean {
  return options?.otelrdcp_sign === true;
}

/** The answer as stored for retries; `undefined` when the client sent no request id of its own. */
function replayRecord({ replay }: CommandContext, response: ControlResponse, now: number): ReplayRecord | undefined {
  return replay && { expiresAt: now + REPLAY_WINDOW_MS, ...replay, response: JSON.stringify(response) };
}

/** The audit entry of a command that succeeded. For `status` it holds what was requested, not what was answered. */
function commandDraft(
  request: ControlRequest,
  context: CommandContext,
  { categories, changes, activation }: CommandEffect,
  outcome: AuditOutcome,
): AuditDraft {
  if (request.action === 'status') return draftOf(request, context, request.categories ?? [], [], outcome);
  const draft = draftOf(request, context, categories, changes, outcome);
  return activation === undefined ? draft : { ...draft, otelrdcp_activation: auditedActivation(activation) };
}

function refusalDraft(request: ControlRequest, context: CommandContext, error: RdcpError): AuditDraft {
  const named = error.details?.unknown ?? request.categories ?? [];
  const categories = (named as readonly string[]).slice(0, MAX_REFUSED_NAMES);
  return { ...draftOf(request, context, categories, [], 'failed'), error: error.code };
}

/**
 * The tenant that a request is about. Under global isolation a tenant's operator addresses the settings of everybody, but an entry, a
 * ticket and a document still name the tenant: elsewhere tenants may be kept apart.
 */
function addressedTenant({ scope, tenant }: Pick<CommandContext, 'scope' | 'tenant'>): string | undefined {
  return scope.tenantId ?? (tenant?.id === EVERYBODY ? undefined : tenant?.id);
}

function draftOf(
  { action, options }: ControlRequest,
  { scope, tenant, tenantName, identity, requestId, source, approval }: CommandContext,
  categories: AuditDraft['categories'],
  changes: AuditDraft['changes'],
  outcome: AuditOutcome,
): AuditDraft {
  const tenantId = addressedTenant({ scope, ...(tenant && { tenant }) });
  const { reason, otelrdcp_budget, otelrdcp_level } = options ?? {};
  // One activation may have ended before: the entry then has nothing else that tells it from a reset of everything.
  const isEnd = action === 'reset' && (options?.otelrdcp_only ?? options?.otelrdcp_id) !== undefined;
  return {
    action,
    categories,
    changes,
    outcome,
    identity,
    ...(tenantId !== undefined && { tenant: { id: tenantId, ...(tenantName !== undefined && { name: tenantName }) } }),
    requestId,
    ...(reason !== undefined && { reason }),
    ...(otelrdcp_budget !== undefined && { otelrdcp_budget }),
    ...(otelrdcp_level !== undefined && { otelrdcp_level }),
    ...(approval !== undefined && { otelrdcp_approval: approval }),
    ...(source !== undefined && { source }),
    ...(isEnd && { otelrdcp_only: 'temporary' as const }),
  };
}
