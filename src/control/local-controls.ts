import type { AuditDraft, AuditRecorder } from '../audit/types.ts';
import { timestamp } from '../protocol/time.ts';
import { type Activation, GLOBAL_SCOPE, type Overlay, type ScopeKey, type Settings } from '../store/state-store.ts';
import type { Clock } from '../time/clock.ts';
import { auditedActivation } from './activation.ts';
import type { Follower } from './follower.ts';
import type { GateBinding } from './gate-binding.ts';
import type { ScopeStates } from './scope-states.ts';
import {
  changesBetween,
  expire,
  expireActivation,
  type Snapshot,
  sameOverlay,
  share,
  type Transition,
} from './transition.ts';
import type { Write, Writer } from './types.ts';

export interface LocalControlsOptions {
  readonly states: ScopeStates;
  readonly binding: GateBinding;
  readonly follower: Follower;
  readonly audit: AuditRecorder;
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now'>;
}

/** The categories that ended or were reconciled, and how they changed. */
type Changes = Pick<Transition, 'categories' | 'changes' | 'activation'>;

/** New settings and activations of a scope, and the audit entry that describes them. */
interface Computed extends Pick<Write, 'draft'> {
  readonly settings: Settings;
  readonly activations: readonly Activation[];
}

/** How often a reconciliation is retried when other processes keep changing the scope. */
const MAX_ATTEMPTS = 16;

/**
 * Temporary controls that apply to this process alone while the store is unreachable. When the store is back, live ones
 * are shared with all processes, ended ones are removed, and both leave audit entries.
 */
export class LocalControls {
  readonly #options: LocalControlsOptions;

  constructor(options: LocalControlsOptions) {
    this.#options = options;
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
    const { states, binding, writer } = this.#options;
    const over = new Map([...states.local(key)].filter(([, overlay]) => states.ended(overlay)));
    if (over.size === 0) return;
    const before = binding.snapshot(key);
    const overlays = new Set<Overlay | Activation>(over.values());
    const inForce: Snapshot = { ...before, ended: (control) => !overlays.has(control) && before.ended(control) };
    const ended = this.#drop(key, inForce, [...over.keys()].sort());
    await writer.note({ draft: this.#expiryDraft(key, ended, [...over.values()].every(states.spent)) });
  }

  /** Local controls merged into the stored settings; `undefined` when there are none left to share. */
  #shared(key: ScopeKey): Computed | undefined {
    const { states, binding, clock } = this.#options;
    const local = states.local(key);
    if (local.size === 0) return undefined;
    const { settings, activations, categories, changes, excess } = share(this.#stored(key), local, clock.now());
    if (excess.length > 0) {
      const left = this.#drop(key, binding.snapshot(key), excess);
      this.#defer(key, left, 'no room among the temporary controls in force');
    }
    if (categories.length === 0) return undefined;
    const reason = 'set in one process while the store could not be reached';
    return { settings, activations, draft: this.#draft('reconcile', key, { categories, changes }, reason) };
  }

  #expired(key: ScopeKey): Computed | undefined {
    const { states, clock } = this.#options;
    const stored = this.#stored(key);
    const now = clock.now();
    // Controls whose budget is used up get an entry of their own, which says so.
    const spent = expire({ ...stored, ended: states.spent }, now);
    const expiry = spent ?? expire(stored, now) ?? expireActivation(stored);
    if (expiry === undefined) return undefined;
    const { settings, activations, activation } = expiry;
    const isSpent = activation === undefined ? spent !== undefined : states.spent(activation);
    return { settings, activations, draft: this.#expiryDraft(key, expiry, isSpent) };
  }

  /** Retries until there is nothing left to write. The scope stays unsettled when others win every attempt. */
  async #write(key: ScopeKey, compute: () => Computed | undefined): Promise<void> {
    const { states, follower, writer } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && follower.reachable; attempt++) {
      const computed = compute();
      if (computed === undefined) return;
      const { revision: expectedRevision } = states.stored(key);
      await writer.write({
        draft: computed.draft,
        state: { scope: key, expectedRevision, settings: computed.settings, activations: computed.activations },
      });
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
    return { categories, changes: changesBetween(before, binding.snapshot(key), categories, timestamp(clock.now())) };
  }

  #defer(key: ScopeKey, changes: Changes, reason: string): void {
    this.#options.audit.defer({ draft: this.#draft('reconcile', key, changes, reason) });
  }

  /** @param spent whether the budget of the controls was used up */
  #expiryDraft(key: ScopeKey, over: Changes, spent: boolean): AuditDraft {
    return this.#draft('expire', key, over, spent ? 'budget' : undefined);
  }

  /** An audit entry that no request caused. */
  #draft(
    action: 'expire' | 'reconcile',
    key: ScopeKey,
    { categories, changes, activation }: Changes,
    reason: string | undefined,
  ): AuditDraft {
    const tenantId = this.#options.binding.tenantOf(key);
    return {
      action,
      categories,
      changes,
      ...(activation !== undefined && { otelrdcp_activation: auditedActivation(activation) }),
      outcome: 'success',
      identity: {},
      ...(tenantId !== undefined && { tenant: { id: tenantId } }),
      ...(reason !== undefined && { reason }),
    };
  }
}
