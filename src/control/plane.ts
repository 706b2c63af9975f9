import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditRecorder } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { RdcpError, unavailable } from '../errors.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import { GLOBAL_SCOPE, type ScopeKey, type StateStore } from '../store/state-store.ts';
import { Announcer, type AnnouncerOptions } from './announcer.ts';
import { type Command, Commands, reused } from './commands.ts';
import { type FollowedStore, Follower } from './follower.ts';
import { GateBinding, type GateOptions } from './gate-binding.ts';
import { ScopeStates } from './scope-states.ts';
import { StoreResets } from './store-resets.ts';
import { overlaySeconds } from './transition.ts';
import type { CategoryView, CommandContext, ControlOutcome, ControlPlane, Scope } from './types.ts';

export interface ControlPlaneOptions extends GateOptions {
  readonly store: FollowedStore & Pick<StateStore, 'commit' | 'commitAll' | 'findReplay'>;
  readonly audit: AuditRecorder;
  readonly clock: Clock;
  readonly delay: Delay;
  /** At `enterprise` every change is rejected while the store is unreachable. @default 'basic' */
  readonly securityLevel?: SecurityLevel;
  /**
   * The tenant whose calls a scope decides, for scopes other than the global one; `undefined` for a foreign scope in a
   * shared store.
   * @default the key itself
   */
  readonly tenantOf?: (key: ScopeKey) => string | undefined;
  /** Returns a number from 0 to 1, for backoff. @default Math.random */
  readonly random?: () => number;
  /** Holds while the store is unreachable. @default not watched */
  readonly outage?: Condition;
  /** Holds while the store has lost changes. @default not watched */
  readonly loss?: Condition;
  /** Receives a line for every change that takes effect here, and for every end. @default nothing is announced */
  readonly announce?: AnnouncerOptions['announce'];
  /** See {@link AnnouncerOptions.claim}. */
  readonly claim?: AnnouncerOptions['claim'];
}

/** Longest sleep while something is watched, in milliseconds. A clock step is noticed within this time. */
const TICK_MS = 1000;
/** Commands per batch. Other processes wait for the lock of a shared file meanwhile. */
const MAX_TOGETHER = 64;
/** Waiting commands per tenant. At 100 ms per write, more would outlast their requests. */
const MAX_WAITING = 256;

/**
 * Puts the gate under control, with every category at its default; {@link ControlPlane.start} loads the stored state.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the configuration names more categories than the limit
 */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  return new Plane(options);
}

class Plane implements ControlPlane {
  readonly #options: ControlPlaneOptions;
  /** Runs timers outside the async context of any request. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  readonly #states: ScopeStates;
  readonly #announcer: Announcer;
  readonly #binding: GateBinding;
  readonly #follower: Follower;
  readonly #commands: Commands;
  readonly #resets: StoreResets;
  /**
   * Whether the store supports batches. Commands that arrive in one turn of the event loop are then written together.
   */
  readonly #together: boolean;
  /** Waiting commands by tenant, in round-robin order, so that one tenant's backlog does not delay another. */
  readonly #waiting = new Map<string, Command[]>();
  readonly #answers = new Set<Promise<unknown>>();
  /** Request ids in progress, with the fingerprint of their request. */
  readonly #inProgress = new Map<string, string>();
  #scheduled = false;
  #closed = false;
  /** The work in the queue that ends last. */
  #tail: Promise<unknown> = Promise.resolve();
  #reconciling = false;
  #timer: { readonly dueAt: number; readonly stop: () => void } | undefined;

  constructor(options: ControlPlaneOptions) {
    const { store, clock, limits, report, securityLevel = 'basic', random = Math.random } = options;
    const { tenantOf: tenantOfScope = (key) => key } = options;
    const tenantOf = (key: ScopeKey) => (key === GLOBAL_SCOPE ? undefined : tenantOfScope(key));
    const delay: Delay = (milliseconds, task) => this.#outsideRequests(() => options.delay(milliseconds, task));
    const states = new ScopeStates(clock, limits.maxDuration);
    const announcer = new Announcer({ ...options, tenantOf, delay, spent: states.spent });
    const binding = new GateBinding({
      ...options,
      states,
      announcer,
      tenantOf,
      exhausted: (key, category) => this.#outsideRequests(() => queueMicrotask(() => this.#spend(key, category))),
      adopted: (key, before, local) => {
        if (before !== undefined) commands.local.superseded(key, before, local);
        resets.changed();
        this.#watch();
      },
    });
    const follower = new Follower({
      store,
      states,
      adopt: (key, state, provenance) => binding.adopt(key, state, { provenance }),
      lost: (reset, reread) => {
        const before = this.#view(GLOBAL_SCOPE);
        reread.then(() => this.#serially(() => resets.report(reset, before))).catch(report);
      },
      changed: () => this.#watch(),
      outage: options.outage ?? UNWATCHED,
      report,
    });
    const commands = new Commands({
      ...options,
      states,
      binding,
      announcer,
      follower,
      tenantOf,
      delay,
      random,
      securityLevel,
      changed: () => this.#watch(),
    });
    const resets = new StoreResets({
      writer: commands,
      clock,
      view: () => this.#view(GLOBAL_SCOPE),
      delay,
      condition: options.loss ?? UNWATCHED,
    });
    this.#options = options;
    this.#together = store.commitAll !== undefined;
    this.#states = states;
    this.#announcer = announcer;
    this.#binding = binding;
    this.#follower = follower;
    this.#commands = commands;
    this.#resets = resets;
  }

  /** Commands that arrive meanwhile wait instead of being rejected. */
  start(): Promise<void> {
    return this.#serially(() => this.#follower.read()).then(() => this.#sweep());
  }

  async control(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    if (this.#closed) throw unavailable('The server is shutting down');
    overlaySeconds(request, this.#options.limits);
    const { replay } = context;
    if (replay === undefined) return this.#answer(request, context);
    const running = this.#inProgress.get(replay.key);
    if (running !== undefined) {
      if (running !== replay.fingerprint) throw reused();
      throw new RdcpError('RDCP_REQUEST_IN_PROGRESS', 'The request with this id is still being worked on', {
        headers: { 'Retry-After': '1' },
      });
    }
    this.#inProgress.set(replay.key, replay.fingerprint);
    try {
      return await this.#answer(request, context);
    } finally {
      this.#inProgress.delete(replay.key);
    }
  }

  view({ key }: Scope): readonly CategoryView[] {
    return this.#view(key);
  }

  temporaryControls(scope?: Scope): number {
    return scope === undefined ? this.#states.liveEverywhere() : this.#states.live(scope.key);
  }

  scopes(): ReadonlySet<ScopeKey> {
    const keys = [...this.#states.keys()];
    return new Set(keys.filter((key) => key !== GLOBAL_SCOPE && this.#states.settings(key).size > 0));
  }

  changedAt({ key }: Scope): number | undefined {
    return this.#states.stored(key).changedAt;
  }

  get current(): boolean {
    return this.#follower.current;
  }

  get lost(): boolean {
    return this.#resets.unseen;
  }

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
    await this.#tail;
    this.#announcer.close();
    this.#binding.detach();
  }

  #view(key: ScopeKey): readonly CategoryView[] {
    this.#sweep();
    return this.#binding.view(key);
  }

  #answer(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const answer = this.#enqueue(request, context);
    const forget = () => this.#answers.delete(answer);
    this.#answers.add(answer);
    answer.then(forget, forget);
    return answer;
  }

  /** The OTel record and the refusal of a command run in the command's own async context. */
  async #enqueue(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<ControlOutcome>();
    let answered = false;
    let emitRecord: (() => void) | undefined;
    const whenKept = (emit: () => void) => {
      // A write that seemed to fail may turn up in the store much later.
      if (answered) emit();
      else emitRecord = emit;
    };
    const tenant = context.tenant?.id ?? context.scope.key;
    const waiting = this.#waiting.get(tenant) ?? [];
    if (waiting.length >= MAX_WAITING) throw unavailable('Too many changes are waiting, so nothing was changed');
    waiting.push({ request, context, whenKept, resolve, reject });
    this.#waiting.set(tenant, waiting);
    this.#schedule();
    let outcome: ControlOutcome;
    try {
      outcome = await promise;
    } catch (error) {
      return this.#serially(() => this.#commands.afterFailure(request, context, error));
    } finally {
      answered = true;
    }
    emitRecord?.();
    // The next command does not wait for the disk, but a change is acknowledged only once it is there.
    if (outcome.durable !== undefined) await kept(outcome.durable);
    return outcome;
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    this.#serially(() => this.#carryOut()).catch(this.#options.report);
  }

  /** Runs one batch, then schedules the rest behind work that arrived meanwhile, such as the entry of a refusal. */
  async #carryOut(): Promise<void> {
    if (this.#together) await new Promise(setImmediate);
    await this.#commands.run(this.#take(this.#together ? MAX_TOGETHER : 1));
    this.#scheduled = false;
    this.#schedule();
  }

  /** Takes one command of each tenant in turn. */
  #take(most: number): readonly Command[] {
    const taken: Command[] = [];
    // A Map iterates in insertion order and visits keys inserted meanwhile last.
    for (const [tenant, waiting] of this.#waiting) {
      if (taken.length === most) break;
      taken.push(...waiting.splice(0, 1));
      this.#waiting.delete(tenant);
      if (waiting.length > 0) this.#waiting.set(tenant, waiting);
    }
    return taken;
  }

  /** Serializes commands: each one computes on the result of the one before. */
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => undefined);
    return done;
  }

  /** Ends expired controls: in the gate at once, in the store and the audit trail when their turn comes. */
  #sweep(): void {
    this.#binding.sweep();
    if (this.#states.unsettled.size === 0 || this.#reconciling || this.#closed) return;
    this.#reconciling = true;
    this.#outsideRequests(() => this.#serially(() => this.#reconcile())).catch(this.#options.report);
  }

  /** Called when the budget of a control is used up. */
  #spend(key: ScopeKey, category: string): void {
    if (this.#closed) return;
    this.#states.spend(key, category);
    this.#sweep();
    this.#watch();
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
    const wait = Math.min(TICK_MS, next > 0 ? Math.ceil(next) : TICK_MS);
    const dueAt = clock.monotonic() + wait;
    if (this.#timer !== undefined && this.#timer.dueAt <= dueAt) return;
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

async function kept(durable: Promise<void>): Promise<void> {
  try {
    await durable;
  } catch (cause) {
    throw unavailable('The change is in force, but it is not certain that the store has kept it', cause);
  }
}
