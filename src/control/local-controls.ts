import {
  type Activation,
  GLOBAL_SCOPE,
  type Overlay,
  type ReplayRecord,
  type ScopeKey,
  type Settings,
} from '../store/state-store.ts';
import type { AuditDraft } from '../trail/types.ts';
import { given } from '../wire/json-text.ts';
import { timestamp } from '../wire/time.ts';
import { auditedActivation } from './activation.ts';
import type { PlaneParts } from './plane.ts';
import { CHANGE_REFUSALS } from './refusals.ts';
import type { ScopeStates } from './scope-states.ts';
import { changesBetween, expire, type Snapshot, share, type Transition } from './transition.ts';
import type { Write, Writer } from './types.ts';

type LocalControlsOptions = Pick<PlaneParts, 'states' | 'binding' | 'follower' | 'audit' | 'store' | 'clock'> & {
  readonly writer: Writer;
};

type Changes = Pick<Transition, 'categories' | 'changes' | 'activation'>;

interface NextState extends Pick<Write, 'draft'> {
  readonly settings: Settings;
  readonly activations: readonly Activation[];
}

/** A control that was decided in this process while the store was unreachable. */
export interface LocalControl {
  readonly overlays: ReadonlyMap<string, Overlay>;
  readonly draft: AuditDraft;
  /** The answer that was given. @default the request cannot be repeated */
  readonly replay: ReplayRecord | undefined;
  readonly kept: () => void;
}

/** A local control as it is compared with what others have decided. */
interface Decision extends Pick<LocalControl, 'replay'> {
  /** Wall time; later than every change that this process knew of. Milliseconds since the epoch. */
  readonly at: number;
  /** Of its scope, as far as this process knew. */
  readonly revision: number;
}

/** What makes an entry of the trail a decision about a category, beside its outcome. */
const DECISIONS: ReadonlySet<string> = new Set(['enable', 'disable', 'toggle', 'reset']);

/** The reason of an end whose budget was used up. */
const BUDGET = 'budget';
const LATER = 'changed for all meanwhile';
const ANSWERED = 'the request had been answered by another process';

/** How often a reconciliation is retried when other processes keep changing the scope. */
const MAX_ATTEMPTS = 16;
const PAGE = 1000;

/**
 * Temporary controls that apply to this process alone while the store is unreachable. When the store is back, each has one
 * outcome, which the trail tells: it is shared with all processes, it yields to what somebody decided after it, or it has ended.
 */
export class LocalControls {
  readonly #options: LocalControlsOptions;
  /** The decision behind each local control, by scope and category. */
  readonly #decisions = new Map<ScopeKey, Map<string, Decision>>();

  constructor(options: LocalControlsOptions) {
    this.#options = options;
  }

  /** Puts a control in force in this process alone; false when too many wait for the store. */
  add(key: ScopeKey, { overlays, draft, ...answer }: LocalControl): boolean {
    const { audit, binding, states, clock } = this.#options;
    if (!audit.defer({ draft, ...answer })) return false;
    const { revision, changedAt = 0 } = states.stored(key);
    const at = Math.max(clock.now(), changedAt + 1);
    const decisions = this.#decisions.get(key) ?? new Map<string, Decision>();
    this.#decisions.set(key, decisions);
    const made = new Map<string, Overlay>();
    for (const [category, overlay] of overlays) {
      decisions.set(category, { at, revision, replay: answer.replay });
      made.set(category, { ...overlay, by: { ...overlay.by, at } });
    }
    binding.addLocal(key, made, { draft, changedAt: at, local: true });
    return true;
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
      if (this.#options.states.local(key).size === 0) this.#decisions.delete(key);
    }
    await this.#write(key, () => this.#expired(key));
  }

  /** Removes the local controls that yield: to a later decision, or to the first answer to the same request. */
  async #yield(key: ScopeKey): Promise<void> {
    const { states, binding, follower } = this.#options;
    const decisions = this.#decisions.get(key) ?? new Map<string, Decision>();
    const [answered, decided] = await Promise.all([
      this.#answeredElsewhere([...decisions.values()]),
      this.#decidedSince(key, [...decisions.values()]),
    ]).catch((error: unknown) => {
      follower.failed();
      throw CHANGE_REFUSALS.storeAway(error);
    });
    const { settings } = states.stored(key);
    const local = [...states.local(key).keys()].sort();
    const isRepeat = (category: string) => answered.has(decisions.get(category)?.replay);
    const isOlder = (category: string) => {
      const { at = 0 } = decisions.get(category) ?? {};
      const { temporary, by } = settings.get(category) ?? {};
      return at <= Math.max(temporary?.by?.at ?? 0, by?.at ?? 0, decided.get(category) ?? 0);
    };
    for (const [reason, yields] of [
      [ANSWERED, isRepeat],
      [LATER, isOlder],
    ] as const) {
      const categories = local.filter((category) => states.local(key).has(category) && yields(category));
      if (categories.length > 0) this.#defer(key, this.#drop(key, binding.snapshot(key), categories), reason);
    }
  }

  /** The answers given here to requests that had another answer by then. */
  async #answeredElsewhere(decisions: readonly Decision[]): Promise<ReadonlySet<ReplayRecord | undefined>> {
    const { store, clock } = this.#options;
    const given = [...new Set(decisions.flatMap(({ replay }) => replay ?? []))];
    const stored = await Promise.all(given.map(({ key }) => store.findReplay(key, clock.now())));
    return new Set(given.filter(({ response }, index) => response !== (stored[index]?.response ?? response)));
  }

  /**
   * When somebody last decided about each category for all processes: the trail knows of what was reset, too, which leaves
   * nothing among the settings. The end of a control is no decision.
   */
  async #decidedSince(key: ScopeKey, decisions: readonly Decision[]): Promise<ReadonlyMap<string, number>> {
    const { store, states, binding } = this.#options;
    const decided = new Map<string, number>();
    const { revision } = states.stored(key);
    if (decisions.every((decision) => decision.revision === revision)) return decided;
    const since = Math.min(...decisions.map(({ at }) => at));
    const tenantId = binding.tenantOf(key);
    const query = { limit: PAGE, since, outcome: 'success', ...given({ tenant: tenantId }) } as const;
    for (let cursor: string | undefined, isLast = false; !isLast; ) {
      const page = await store.queryAudit({ ...query, ...(cursor && { cursor }) });
      for (const { action, categories, timestamp: at, tenant: of, otelrdcp_activation: activation } of page.entries) {
        // Where tenants have no settings of their own, a change for everybody names the tenant of who made it.
        const isOfScope = of === undefined || binding.tenantOf(of.id) === tenantId;
        if (!isOfScope || !DECISIONS.has(action) || activation !== undefined) continue;
        for (const name of categories) decided.set(name, Math.max(Date.parse(at), decided.get(name) ?? 0));
      }
      cursor = page.next;
      // A store without an index goes on through the whole trail.
      isLast = cursor === undefined || page.entries.length === 0;
    }
    return decided;
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
    await writer.note({
      draft: this.#draft('expire', key, ended, [...over.values()].every(states.spent) ? BUDGET : undefined),
    });
  }

  /** Local controls merged into the stored settings; `undefined` when there are none left to share. */
  async #shared(key: ScopeKey): Promise<NextState | undefined> {
    const { states, binding, clock } = this.#options;
    await this.#yield(key);
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

  #expired(key: ScopeKey): NextState | undefined {
    const { states, clock } = this.#options;
    const stored = this.#stored(key);
    const now = clock.now();
    // Controls whose budget is used up get an entry of their own, which says so.
    const spent = expire({ ...stored, ended: states.spent }, now);
    const expiry = spent ?? expire(stored, now);
    if (expiry === undefined) return undefined;
    const { settings, activations } = expiry;
    return { settings, activations, draft: this.#draft('expire', key, expiry, spent && BUDGET) };
  }

  /** Retries until there is nothing left to write. The scope stays unsettled when others win every attempt. */
  async #write(key: ScopeKey, compute: () => Promise<NextState | undefined> | NextState | undefined): Promise<void> {
    const { states, follower, writer } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && follower.reachable; attempt++) {
      const { revision: expectedRevision } = states.stored(key);
      const computed = await compute();
      if (computed === undefined) return;
      await writer.write({
        draft: computed.draft,
        state: { scope: key, expectedRevision, settings: computed.settings, activations: computed.activations },
      });
    }
  }

  #stored(key: ScopeKey): Snapshot {
    const { states, binding } = this.#options;
    const { settings } = states.stored(key);
    const snapshot = binding.snapshot(key);
    return key === GLOBAL_SCOPE ? { ...snapshot, global: settings } : { ...snapshot, tenant: settings };
  }

  #drop(key: ScopeKey, before: Snapshot, categories: readonly string[]): Changes {
    const { binding, clock } = this.#options;
    binding.dropLocal(key, categories);
    return { categories, changes: changesBetween(before, binding.snapshot(key), categories, timestamp(clock.now())) };
  }

  #defer(key: ScopeKey, changes: Changes, reason: string): void {
    this.#options.audit.defer({ draft: this.#draft('reconcile', key, changes, reason) });
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
      outcome: 'success',
      identity: {},
      ...given({
        otelrdcp_activation: activation && auditedActivation(activation),
        tenant: tenantId === undefined ? undefined : { id: tenantId },
        reason,
      }),
    };
  }
}
