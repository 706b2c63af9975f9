import { AsyncLocalStorage } from 'node:async_hooks';
import type { TicketSigner } from '../access/tickets/issue.ts';
import { type Condition, UNWATCHED } from '../otel/report/conditions.ts';
import type { Reporter } from '../otel/report/reporter.ts';
import { createTurns, OURS } from '../store/one-at-a-time.ts';
import { GLOBAL_SCOPE, type ScopeKey, type StateStore } from '../store/state-store.ts';
import type { AuditRecorder } from '../trail/types.ts';
import type { OtherCategories } from '../wire/category-list.ts';
import type { SecurityLevel } from '../wire/constants.ts';
import type { ControlRequest } from '../wire/control-request.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { Announcer } from './announcer.ts';
import type { FollowedCluster } from './cluster/following.ts';
import { Commands } from './commands.ts';
import { type FollowedStore, Follower, StoreResets } from './follower.ts';
import { GateBinding, type GateOptions, type ScopeTenants } from './gate-binding.ts';
import { CHANGE_REFUSALS } from './refusals.ts';
import { ScopeStates } from './scope-states.ts';
import { assertKnown, overlaySeconds } from './transition.ts';
import type { CategoryOfProcess, CategoryView, CommandContext, ControlOutcome, Scope } from './types.ts';

export interface ControlPlaneOptions extends GateOptions {
  readonly store: FollowedStore &
    Pick<StateStore, 'commit' | 'sync' | 'findReplay' | 'queryAudit' | 'shared' | 'records' | 'positions'>;
  readonly audit: AuditRecorder;
  readonly clock: Clock;
  readonly delay: Delay;
  /** At `enterprise` every change is rejected while the store is unreachable. @default 'basic' */
  readonly securityLevel?: SecurityLevel;
  /** @default the key of a scope is its tenant */
  readonly isolation?: ScopeTenants;
  /** Returns a number from 0 to 1, for backoff. @default Math.random */
  readonly random?: () => number;
  /** Holds while the store is unreachable. @default not watched */
  readonly outage?: Condition;
  /** Holds while the store has lost changes. @default not watched */
  readonly loss?: Condition;
  /** Receives a line for every change that takes effect here, and for every end. @default nothing is announced */
  readonly reporter?: Pick<Reporter, 'info'> | undefined;
  /** The processes that share one stderr, while there are any. @default this process announces everything */
  readonly cluster?: Pick<FollowedCluster, 'claim' | 'isMember'> | undefined;
  /** Signs tickets, for services that do not share the store. @default tickets are not signed */
  readonly ticketSigner?: TicketSigner | undefined;
}

/** What the parts of a plane share. */
export interface PlaneParts extends ControlPlaneOptions {
  readonly securityLevel: SecurityLevel;
  readonly isolation: ScopeTenants;
  readonly random: () => number;
  readonly outage: Condition;
  /** The store does not say which categories other processes have. */
  readonly alone: boolean;
  readonly states: ScopeStates;
  readonly announcer: Announcer;
  readonly binding: GateBinding;
  readonly follower: Follower;
}

/** Longest sleep while something is watched, in milliseconds. A clock step is noticed within this time. */
const TICK_MS = 1000;
/** Commands of a tenant that are there at a time: one is carried out, the others wait. */
const MAX_COMMANDS = 256;
/** How long a command waits for its turn, in milliseconds: on a slow store it is refused rather than answered late. */
const MAX_WAIT_MS = 2000;

export class ControlPlane {
  readonly #options: ControlPlaneOptions;
  /** Runs timers outside the async context of any request. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  /** One task at a time, since each command computes on the result of the one before. */
  readonly #inTurn = createTurns({
    most: 1,
    mostOfKey: 1,
    mostWaiting: MAX_COMMANDS - 1,
    refuse: CHANGE_REFUSALS.manyWaiting,
  });
  readonly #states: ScopeStates;
  readonly #announcer: Announcer;
  readonly #binding: GateBinding;
  readonly #follower: Follower;
  readonly #commands: Commands;
  readonly #resets: StoreResets;
  readonly #answers = new Set<Promise<unknown>>();
  /** Request ids in progress, with the fingerprint of their request. */
  readonly #inProgress = new Map<string, string>();
  #closed = false;
  #reconciling = false;
  #timer: { readonly dueAt: number; readonly stop: () => void } | undefined;

  /**
   * Puts the gate under control, with every category at its default; {@link ControlPlane.start} loads the stored state.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the configuration names more categories than the limit
   */
  constructor(options: ControlPlaneOptions) {
    const { store, clock, limits, report, isolation = KEY_IS_TENANT } = options;
    const { securityLevel = 'basic', random = Math.random, outage = UNWATCHED, loss = UNWATCHED } = options;
    const delay: Delay = (milliseconds, task) => this.#outsideRequests(() => options.delay(milliseconds, task));
    const states = new ScopeStates(clock, limits.maxDuration);
    const alone = store.records === undefined || store.positions === undefined;
    const shared = { ...options, states, isolation, alone, delay, random, outage, securityLevel };
    const announcer = new Announcer(shared);
    const binding = new GateBinding({ ...shared, announcer });
    const follower = new Follower({ ...shared, binding });
    const commands = new Commands({ ...shared, announcer, binding, follower });
    const resets = new StoreResets({ writer: commands, views: binding.views, clock, delay, condition: loss });
    this.#options = options;
    this.#states = states;
    this.#announcer = announcer;
    this.#binding = binding;
    this.#follower = follower;
    this.#commands = commands;
    this.#resets = resets;
    binding.subscribe({
      adopted: () => {
        resets.changed();
        this.#watch();
      },
      exhausted: (control) => this.#later(() => states.spend(control)),
    });
    follower.subscribe({
      changed: () => this.#watch(),
      lost: (reset, reread) => {
        const before = this.#view(GLOBAL_SCOPE);
        reread.then(() => this.#inTurn(OURS, () => resets.report(reset, before))).catch(report);
      },
    });
  }

  /**
   * Loads the store and applies it; commands that arrive meanwhile wait. Never rejects: health reports a failure.
   */
  start(): Promise<void> {
    return this.#inTurn(OURS, () => this.#follower.read()).then(() => this.#sweep());
  }

  /** @throws {RdcpError} when nothing was changed, or, by `details.outcome`, when that is unknown; the code says why */
  async control(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    if (this.#closed) throw CHANGE_REFUSALS.closing();
    overlaySeconds(request, this.#options.limits);
    const { replay } = context;
    const running = replay && this.#inProgress.get(replay.key);
    if (running !== undefined) {
      throw running === replay?.fingerprint ? CHANGE_REFUSALS.inProgress() : CHANGE_REFUSALS.reused();
    }
    if (replay !== undefined) this.#inProgress.set(replay.key, replay.fingerprint);
    const answer = this.#answer(request, context);
    this.#answers.add(answer);
    try {
      return await answer;
    } finally {
      this.#answers.delete(answer);
      if (replay !== undefined) this.#inProgress.delete(replay.key);
    }
  }

  async #answer(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const tenant = context.tenant?.id ?? context.scope.key;
    const { clock } = this.#options;
    const latest = clock.monotonic() + MAX_WAIT_MS;
    const outcome = await this.#inTurn(tenant, () => {
      if (clock.monotonic() > latest) throw CHANGE_REFUSALS.manyWaiting();
      return this.#commands.run(request, context);
    });
    this.#watch();
    if (outcome.local !== true) await this.#commands.sync(context);
    return outcome;
  }

  /** Every category of the fleet as the scope sees it now, sorted by name. */
  view({ key }: Scope): readonly CategoryView[] {
    return this.#view(key);
  }

  /** The categories of this process; the same array until they change. */
  categories(): readonly CategoryOfProcess[] {
    return this.#binding.categories();
  }

  setOthers(others: OtherCategories): void {
    this.#binding.setOthers(others);
  }

  hasAll(categories: readonly string[]): boolean {
    return categories.every((name) => this.#binding.defaults.has(name));
  }

  /** @throws {RdcpError} `RDCP_CATEGORY_NOT_FOUND` for a category that no known process has */
  assertKnown(categories: readonly string[]): void {
    assertKnown(categories, this.#binding.snapshot(GLOBAL_SCOPE));
  }

  /** Live temporary controls of the scope, or of all scopes. */
  temporaryControls(scope?: Scope): number {
    return scope === undefined ? this.#states.liveEverywhere() : this.#states.live(scope.key);
  }

  scopes(): ReadonlySet<ScopeKey> {
    const keys = [...this.#states.keys()].filter((key) => key !== GLOBAL_SCOPE);
    return new Set(keys.filter((key) => this.#states.settings(key).size + this.#states.activations(key).length > 0));
  }

  changedAt({ key }: Scope): number | undefined {
    return this.#states.stored(key).changedAt;
  }

  /** Whether this process has applied every change that it received. */
  get current(): boolean {
    return this.#follower.current;
  }

  /** Whether the store has lost acknowledged changes and nothing was changed since; reset after an hour. */
  get lost(): boolean {
    return this.#resets.unseen;
  }

  /** False while the whole instrumentation is switched off. */
  get enabled(): boolean {
    return this.#binding.enabled;
  }

  setEnabled(enabled: boolean): void {
    this.#binding.setEnabled(enabled);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.stop();
    this.#follower.close();
    await Promise.allSettled(this.#answers);
    await this.#inTurn(OURS, async () => {});
    this.#announcer.close();
    this.#binding.detach();
  }

  #view(key: ScopeKey): readonly CategoryView[] {
    this.#sweep();
    return this.#binding.views.of(key);
  }

  /** Ends expired controls: in the gate at once, in the store and the audit trail when their turn comes. */
  #sweep(): void {
    this.#binding.sweep();
    if (this.#states.unsettled.size === 0 || this.#reconciling || this.#closed) return;
    this.#reconciling = true;
    this.#outsideRequests(() => this.#inTurn(OURS, () => this.#reconcile())).catch(this.#options.report);
  }

  /** Ends a control whose budget is used up, after the debug call that used it up. */
  #later(spend: () => void): void {
    this.#outsideRequests(() =>
      queueMicrotask(() => {
        if (this.#closed) return;
        spend();
        this.#sweep();
        this.#watch();
      }),
    );
  }

  async #reconcile(): Promise<void> {
    this.#reconciling = false;
    for (const key of [...this.#states.unsettled]) await this.#commands.local.reconcile(key);
  }

  /** Sets a timer for the next end or the next read of the store. Sets none when there is neither. */
  #watch(): void {
    if (this.#closed) return;
    const next = this.#states.untilNextEnd();
    const waiting = next !== Number.POSITIVE_INFINITY || this.#states.unsettled.size > 0 || this.#follower.doubtful;
    if (!waiting) return;
    const { clock, delay } = this.#options;
    const wait = Math.min(TICK_MS, Math.max(0, Math.ceil(next)));
    const now = clock.monotonic();
    const dueAt = now + wait;
    // One that is overdue was lost, or waits for a busy event loop.
    if (this.#timer !== undefined && now <= this.#timer.dueAt && this.#timer.dueAt <= dueAt) return;
    this.#timer?.stop();
    const stop = this.#outsideRequests(() => delay(wait, () => this.#tick()));
    this.#timer = { dueAt, stop };
  }

  #tick(): void {
    this.#timer = undefined;
    this.#sweep();
    if (this.#follower.doubtful) void this.#follower.read().then(() => this.#sweep());
    this.#watch();
  }
}

const KEY_IS_TENANT: ScopeTenants = { tenantOf: (key) => (key === GLOBAL_SCOPE ? undefined : key) };
