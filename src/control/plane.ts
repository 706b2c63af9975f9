import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditRecorder } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { RdcpError, unavailable } from '../errors.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import { Serial } from '../serial.ts';
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
  /** At `enterprise` nothing at all is changed while the store cannot be reached. @default 'basic' */
  readonly securityLevel?: SecurityLevel;
  /**
   * The tenant whose calls are decided by a scope other than the global one; `undefined` for a scope of somebody else who
   * shares the store. @default the key itself
   */
  readonly tenantOf?: (key: ScopeKey) => string | undefined;
  /** From 0 to 1, for waits. @default Math.random */
  readonly random?: () => number;
  /** Holds while the store does not answer. @default not watched */
  readonly outage?: Condition;
  /** Holds while the store has lost changes. @default not watched */
  readonly loss?: Condition;
  /** Takes a line for every change that takes effect here, and for every end. @default nothing is announced */
  readonly announce?: AnnouncerOptions['announce'];
  /** See {@link AnnouncerOptions.claim}. */
  readonly claim?: AnnouncerOptions['claim'];
}

/** Longest sleep while there is something to watch, in milliseconds: a clock that jumped is noticed by then. */
const TICK_MS = 1000;
/** Commands carried out together, at most: others wait for the lock of a shared file meanwhile. */
const MAX_TOGETHER = 64;
/** Commands of one tenant that wait, at most: with a store that takes 100 ms for each, more would outlast their requests. */
const MAX_WAITING = 256;

/**
 * Puts the gate under control, at once with every category's default; {@link ControlPlane.start} brings what is stored.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the configuration names more categories than the limit
 */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  return new Plane(options);
}

class Plane implements ControlPlane {
  readonly #options: ControlPlaneOptions;
  /** What happens by the passing of time belongs to no request: it runs in the context that the plane was made in. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  readonly #states: ScopeStates;
  readonly #announcer: Announcer;
  readonly #binding: GateBinding;
  readonly #follower: Follower;
  readonly #commands: Commands;
  readonly #resets: StoreResets;
  /** Whether the store writes many together. Those that arrive in one turn of the event loop are carried out together then. */
  readonly #together: boolean;
  /** Commands that wait by tenant, whose turn is next first: the backlog of one tenant does not hold up another. */
  readonly #waiting = new Map<string, Command[]>();
  readonly #answers = new Set<Promise<unknown>>();
  /** Request ids that are being worked on, with the fingerprint of their request. */
  readonly #inProgress = new Map<string, string>();
  #scheduled = false;
  #closed = false;
  /** So that each command computes on what the one before it left. */
  readonly #serial = new Serial();
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
        reread.then(() => this.#serial.run(() => resets.tell(reset, before))).catch(report);
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

  /** Commands that come meanwhile wait for it, rather than be refused. */
  start(): Promise<void> {
    return this.#serial.run(() => this.#follower.read()).then(() => this.#sweep());
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

  scopes(): ReadonlyMap<ScopeKey, { readonly changedAt?: number }> {
    const found = new Map<ScopeKey, { readonly changedAt?: number }>();
    for (const key of this.#states.keys()) {
      if (key === GLOBAL_SCOPE || this.#states.settings(key).size === 0) continue;
      const { changedAt } = this.#states.stored(key);
      found.set(key, changedAt === undefined ? {} : { changedAt });
    }
    return found;
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
    await this.#serial.idle();
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

  /** What a command is owed, its record and what comes of its refusal, is done in its own asynchronous context. */
  async #enqueue(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<ControlOutcome>();
    let answered = false;
    let emitRecord: (() => void) | undefined;
    const whenKept = (emit: () => void) => {
      // An entry whose write seemed to fail may be found in the store much later.
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
      return this.#serial.run(() => this.#commands.afterFailure(request, context, error));
    } finally {
      answered = true;
    }
    emitRecord?.();
    // The next command need not wait for the disk, but no change is acknowledged before it is there.
    if (outcome.durable !== undefined) await kept(outcome.durable);
    return outcome;
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    this.#serial.run(() => this.#carryOut()).catch(this.#options.report);
  }

  /** Schedules the rest behind what came meanwhile, such as the entry of a refusal. */
  async #carryOut(): Promise<void> {
    if (this.#together) await new Promise(setImmediate);
    await this.#commands.run(this.#take(this.#together ? MAX_TOGETHER : 1));
    this.#scheduled = false;
    this.#schedule();
  }

  /** One of each tenant, then another one of each. */
  #take(most: number): readonly Command[] {
    const taken: Command[] = [];
    // A map is walked through in the order of insertion, what is inserted meanwhile last.
    for (const [tenant, waiting] of this.#waiting) {
      if (taken.length === most) break;
      taken.push(...waiting.splice(0, 1));
      this.#waiting.delete(tenant);
      if (waiting.length > 0) this.#waiting.set(tenant, waiting);
    }
    return taken;
  }

  /** Ends what is over: for the gate at once, for the store and the trail as soon as it is their turn. */
  #sweep(): void {
    this.#binding.sweep();
    if (this.#states.unsettled.size === 0 || this.#reconciling || this.#closed) return;
    this.#reconciling = true;
    this.#outsideRequests(() => this.#serial.run(() => this.#reconcile())).catch(this.#options.report);
  }

  /** The budget of a control is used up. */
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

  /** Sleeps until the next temporary control ends, or the store is to be read again; not at all without either. */
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
