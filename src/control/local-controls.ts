import type { AuditRecorder } from '../audit/types.ts';
import type { Clock } from '../clock.ts';
import type { RdcpError } from '../errors.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import { GLOBAL_SCOPE, type Overlay, type ReplayRecord, type ScopeKey, type Settings } from '../store/state-store.ts';
import {
  type Changes,
  commandDraft,
  controlResponse,
  expiryDraft,
  reconciliationDraft,
  replayRecord,
} from './answers.ts';
import type { Follower } from './follower.ts';
import type { GateBinding } from './gate-binding.ts';
import type { ScopeStates } from './scope-states.ts';
import { changesBetween, expire, overlaySeconds, type Snapshot, sameOverlay, share, transition } from './transition.ts';
import type { CommandContext, ControlOutcome, Write, Writer } from './types.ts';

export interface LocalControlsOptions {
  readonly states: ScopeStates;
  readonly binding: GateBinding;
  readonly follower: Follower;
  readonly audit: AuditRecorder;
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now'>;
  readonly securityLevel: SecurityLevel;
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /** Called when local controls were added, so that their end is watched. */
  readonly changed: () => void;
}

/** New settings of a scope, and the audit entry that describes them. */
interface Computed extends Pick<Write, 'draft'> {
  readonly settings: Settings;
}

/** How often a reconciliation is retried when other processes keep changing the scope. */
const MAX_ATTEMPTS = 16;

/**
 * Temporary controls that apply to this process alone while the store is unreachable. When the store is back, live ones
 * are shared with all processes, ended ones are removed, and both leave audit entries.
 */
export class LocalControls {
  /** Answers given locally, until the store has them. */
  readonly answers: Map<string, ReplayRecord> = new Map();
  readonly #options: LocalControlsOptions;

  constructor(options: LocalControlsOptions) {
    this.#options = options;
  }

  /**
   * Applies a temporary control although the store is unreachable. Permanent changes are rejected, and at level
   * enterprise every change.
   * @throws {RdcpError} `failure` when the command cannot be applied locally
   */
  apply(request: ControlRequest, context: CommandContext, failure: RdcpError): ControlOutcome {
    const { binding, audit, clock, securityLevel, changed } = this.#options;
    const { key } = context.scope;
    binding.sweep();
    const snapshot = binding.snapshot(key);
    if (overlaySeconds(request, snapshot.limits) === undefined || securityLevel === 'enterprise') throw failure;
    const now = clock.now();
    const next = transition(snapshot, request, now, context.identity);
    const overlays = new Map<string, Overlay>();
    for (const category of next.categories) {
      const overlay = next.settings.get(category)?.temporary;
      if (overlay !== undefined) overlays.set(category, overlay);
    }
    const response = controlResponse(request, next, 'partial', now, context);
    const replay = replayRecord(context, response, now);
    const draft = commandDraft(request, context, next, 'partial');
    const kept = () => {
      if (replay !== undefined) this.answers.delete(replay.key);
    };
    if (!audit.defer({ draft, replay, kept })) throw failure;
    if (replay !== undefined) this.answers.set(replay.key, replay);
    binding.addLocal(key, overlays, { draft, changedAt: now, local: true });
    changed();
    return { response, replayed: false };
  }

  /**
   * Reconciles a scope with the store. Several processes may see the same end: the first one writes it, the others find
   * it done.
   * @throws {RdcpError} when the store rejects the write; the scope stays {@link ScopeStates.unsettled}
   */
  async reconcile(key: ScopeKey): Promise<void> {
    if (this.#options.states.local(key).size > 0) {
      await this.#end(key);
      await this.#write(key, () => this.#shared(key));
    }
    await this.#write(key, () => this.#expired(key));
  }

  /**
   * Records which local controls were replaced by a stored change.
   * @param before the scope until then
   * @param local its local controls until then
   */
  superseded(key: ScopeKey, before: Snapshot, local: ReadonlyMap<string, Overlay>): void {
    const { states } = this.#options;
    const { settings } = states.stored(key);
    const still = states.local(key);
    const categories = [...local]
      .filter(([category, overlay]) => !still.has(category) && !sameOverlay(settings.get(category)?.temporary, overlay))
      .map(([category]) => category)
      .sort();
    if (categories.length > 0)
      this.#defer(key, this.#changesSince(key, before, categories), 'changed for all meanwhile');
  }

  /**
   * Records the end of local controls. No other process knows of them; the entry is deferred while the store is away.
   */
  async #end(key: ScopeKey): Promise<void> {
    const { states, binding, writer, tenantOf } = this.#options;
    const over = new Map([...states.local(key)].filter(([, overlay]) => states.ended(overlay)));
    if (over.size === 0) return;
    const before = binding.snapshot(key);
    const overlays = new Set(over.values());
    const inForce: Snapshot = { ...before, ended: (overlay) => !overlays.has(overlay) && before.ended(overlay) };
    const ended = this.#drop(key, inForce, [...over.keys()].sort());
    await writer.note({ draft: expiryDraft(ended, tenantOf(key), [...overlays].every(states.spent)) });
  }

  /** Local controls merged into the stored settings; `undefined` when there are none left to share. */
  #shared(key: ScopeKey): Computed | undefined {
    const { states, binding, clock, tenantOf } = this.#options;
    const local = states.local(key);
    if (local.size === 0) return undefined;
    const { settings, categories, changes, excess } = share(this.#stored(key), local, clock.now());
    if (excess.length > 0) {
      const left = this.#drop(key, binding.snapshot(key), excess);
      this.#defer(key, left, 'no room among the temporary controls in force');
    }
    if (categories.length === 0) return undefined;
    const reason = 'set in one process while the store could not be reached';
    return { settings, draft: reconciliationDraft({ categories, changes }, tenantOf(key), reason) };
  }

  #expired(key: ScopeKey): Computed | undefined {
    const { states, clock, tenantOf } = this.#options;
    const stored = this.#stored(key);
    const now = clock.now();
    // Controls whose budget is used up get an entry of their own, which says so.
    const spent = expire({ ...stored, ended: states.spent }, now);
    const expiry = spent ?? expire(stored, now);
    const draft = expiry && expiryDraft(expiry, tenantOf(key), spent !== undefined);
    return expiry && draft && { settings: expiry.settings, draft };
  }

  /** Retries until there is nothing left to write. The scope stays unsettled when others win every attempt. */
  async #write(key: ScopeKey, compute: () => Computed | undefined): Promise<void> {
    const { states, follower, writer } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && follower.reachable; attempt++) {
      const computed = compute();
      if (computed === undefined) return;
      const { revision: expectedRevision } = states.stored(key);
      const settings = states.pack(key, computed.settings);
      await writer.write({ draft: computed.draft, state: { scope: key, expectedRevision, settings } });
    }
  }

  /** The stored state, without local controls. */
  #stored(key: ScopeKey): Snapshot {
    const { states, binding } = this.#options;
    const { settings } = states.stored(key);
    const snapshot = binding.snapshot(key);
    return key === GLOBAL_SCOPE ? { ...snapshot, global: settings } : { ...snapshot, tenant: settings };
  }

  #drop(key: ScopeKey, before: Snapshot, categories: readonly string[]): Changes {
    this.#options.binding.dropLocal(key, categories);
    return this.#changesSince(key, before, categories);
  }

  #changesSince(key: ScopeKey, before: Snapshot, categories: readonly string[]): Changes {
    const { binding, clock } = this.#options;
    return { categories, changes: changesBetween(before, binding.snapshot(key), categories, clock.now()) };
  }

  #defer(key: ScopeKey, changes: Changes, reason: string): void {
    const { audit, tenantOf } = this.#options;
    audit.defer({ draft: reconciliationDraft(changes, tenantOf(key), reason) });
  }
}
