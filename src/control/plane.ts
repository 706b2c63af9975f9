import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditDraft, AuditRecorder } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { RdcpError } from '../errors.ts';
import type { Gate, Sink } from '../gate/types.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import { GLOBAL_SCOPE, type ScopeKey, type ScopeState, type StateStore } from '../store/state-store.ts';
import { type AnnouncerOptions, createAnnouncer } from './announcer.ts';
import type { CategoryOverride } from './catalogue.ts';
import { createCommands, reused } from './command.ts';
import type { Provenance } from './deadlines.ts';
import { createFollower, type FollowedStore } from './follower.ts';
import { linkGate } from './gate-link.ts';
import { createLedger } from './ledger.ts';
import { createLosses } from './loss.ts';
import { createQueue } from './queue.ts';
import { createSettlement } from './settlement.ts';
import { effectiveState } from './state.ts';
import { type ControlLimits, overlaySeconds, type Situation } from './transition.ts';
import type { CategoryView, ControlPlane } from './types.ts';
import { createViews } from './views.ts';
import { createWriter, unavailable } from './writer.ts';

export interface ControlPlaneOptions {
  readonly gate: Gate;
  readonly store: FollowedStore & Pick<StateStore, 'commit' | 'commitAll' | 'findReplay'>;
  readonly audit: AuditRecorder;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly delay: Delay;
  readonly limits: ControlLimits & { readonly maxCategories: number };
  /** What the configuration says of categories, over what the code registered. */
  readonly overrides: Readonly<Record<string, CategoryOverride>>;
  /** At `enterprise` nothing at all is changed while the store cannot be reached. @default 'basic' */
  readonly securityLevel?: SecurityLevel;
  /**
   * The tenant whose calls are decided by a scope other than the global one; `undefined` for a scope of somebody else who
   * shares the store. @default the key itself
   */
  readonly tenantOf?: (key: ScopeKey) => string | undefined;
  /** Count the calls of each tenant as well. @default false */
  readonly countsTenants?: boolean;
  /** The tenant of the current work where no `runWithTenant` names one. @default nobody */
  readonly currentTenant?: (() => string | undefined) | undefined;
  /** From 0 to 1, for waits. @default Math.random */
  readonly random?: () => number;
  /** Holds while the store does not answer. @default not watched */
  readonly outage?: Condition;
  /** Holds while the store has lost changes. @default not watched */
  readonly loss?: Condition;
  /** Takes a line for every change that takes effect here, and for every end. @default nothing is said */
  readonly announce?: ((line: string) => void) | undefined;
  /** See {@link AnnouncerOptions.claim}. */
  readonly claim?: AnnouncerOptions['claim'];
  /** Told of what goes wrong outside any request. */
  readonly report: (error: unknown) => void;
}

/** Longest sleep while there is something to watch, in milliseconds: a clock that jumped is noticed by then. */
const TICK_MS = 1000;

/**
 * Puts the gate under control, at once with every category's default; {@link ControlPlane.start} brings what is stored.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the configuration names more categories than the limit
 */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, delay, limits, report, securityLevel = 'basic', random = Math.random } = options;
  const tenantOf = (key: ScopeKey): string | undefined =>
    key === GLOBAL_SCOPE || options.tenantOf === undefined ? tenantIdOf(key) : options.tenantOf(key);
  // What happens by the passing of time belongs to no request: it runs in the context that the plane was made in.
  const outsideRequests = AsyncLocalStorage.snapshot();
  const ledger = createLedger(clock, limits.maxDuration);
  const views = createViews();
  const link = linkGate({
    ...options,
    ledger,
    maxCategories: limits.maxCategories,
    tenantOf,
    changed: views.forget,
  });
  /** Request ids that are being worked on, with the fingerprint of their request. */
  const inProgress = new Map<string, string>();
  let enabled = true;
  let closed = false;
  let tail: Promise<unknown> = Promise.resolve();
  let settling = false;
  let timer: { readonly dueAt: number; readonly stop: () => void } | undefined;

  function situationOf(key: ScopeKey): Situation {
    return { ...ledger.layers(key), defaults: link.catalogue.defaults, limits, ended: ledger.ended };
  }

  const follower = createFollower({
    store,
    stored: ledger.stored,
    keys: ledger.keys,
    adopt,
    lost(reset, reread) {
      const before = viewOf(GLOBAL_SCOPE);
      reread.then(() => serially(() => losses.tell(reset, before))).catch(report);
    },
    changed: watch,
    outage: options.outage ?? UNWATCHED,
    report,
  });
  const announcer = createAnnouncer({
    settings: ledger.settings,
    ended: ledger.ended,
    isRegistered: (name) => link.catalogue.defaults.has(name),
    isOn: (key, name) =>
      effectiveState(name, ledger.layers(key), link.catalogue.defaults.get(name) === true, ledger.ended).enabled,
    tenantOf,
    clock,
    delay: (milliseconds, task) => outsideRequests(() => delay(milliseconds, task)),
    announce: options.announce,
    ...(options.claim && { claim: options.claim }),
  });
  const reachable = () => follower.loaded && !follower.unreachable;
  const writer = createWriter({
    store,
    audit: options.audit,
    clock,
    pack: ledger.pack,
    writing: announcer.hold,
    committed(key, state, expectedRevision, draft) {
      // Word of a later change may have come before the answer to our own.
      const { revision } = ledger.stored(key);
      if (revision === expectedRevision || revision < state.revision) adopt(key, state, undefined, draft);
      else announcer.own(key, state.revision, draft);
    },
    conflicted: adopt,
    failed: follower.failed,
  });
  const losses = createLosses({
    writer,
    clock,
    view: () => viewOf(GLOBAL_SCOPE),
    delay: (milliseconds, task) => outsideRequests(() => delay(milliseconds, task)),
    condition: options.loss ?? UNWATCHED,
  });
  const settlement = createSettlement({
    ledger,
    writer,
    clock,
    situationOf,
    tenantOf,
    dropHere(key, categories) {
      announcer.change(key, {}, () => {
        ledger.dropHere(key, categories);
        link.apply(key, categories);
        return categories;
      });
    },
    reachable,
  });
  const commands = createCommands({
    store,
    ledger,
    writer,
    settlement,
    clock,
    delay,
    random,
    securityLevel,
    situationOf,
    sweep,
    overlayHere(key, overlays, draft) {
      announcer.change(key, { draft, changedAt: clock.now(), here: true }, () => {
        ledger.overlayHere(key, overlays);
        link.apply(key, overlays.keys());
        return overlays.keys();
      });
      watch();
    },
    outage: () => (reachable() ? undefined : unavailable('The store cannot be reached, so nothing was changed')),
    failed: follower.failed,
  });

  const queue = createQueue({ commands, serially, together: store.commitAll !== undefined, report });

  /** Takes over what a scope has become, and makes the gate follow. */
  function adopt(key: ScopeKey, state: ScopeState, provenance?: Provenance, draft?: AuditDraft): void {
    if (key !== GLOBAL_SCOPE && tenantOf(key) === undefined) return;
    const here = ledger.here(key);
    const before = here.size > 0 ? situationOf(key) : undefined;
    const { revision, changedAt } = state;
    announcer.change(key, { draft, revision, changedAt, restored: provenance?.restored }, () => {
      const touched = ledger.adopt(key, state, provenance);
      link.apply(key, touched);
      return here.size === 0 ? touched : new Set([...touched, ...here.keys()]);
    });
    if (before !== undefined) settlement.superseded(key, before, here);
    losses.changed();
    watch();
  }

  /** One after the other, so that each command computes on what the one before it left. */
  function serially<T>(work: () => Promise<T>): Promise<T> {
    const done = tail.then(work);
    tail = done.catch(() => undefined);
    return done;
  }

  /** Ends what is over: for the gate at once, for the store and the trail as soon as it is their turn. */
  function sweep(): void {
    if (ledger.noticeClock()) views.forget();
    for (const [key, categories] of ledger.sweep()) {
      link.apply(key, categories);
      announcer.ended(key, categories);
    }
    if (ledger.unsettled.size > 0) settle();
  }

  function settle(): void {
    if (settling || closed) return;
    settling = true;
    outsideRequests(() => serially(settleAll)).catch(report);
  }

  async function settleAll(): Promise<void> {
    settling = false;
    for (const key of [...ledger.unsettled]) await settlement.settle(key);
  }

  function viewOf(key: ScopeKey): readonly CategoryView[] {
    sweep();
    const categories = link.catalogue.sorted();
    return views.take(key, categories, () => {
      const layers = ledger.layers(key);
      return categories.map((category) => {
        const state = effectiveState(category.name, layers, category.defaultEnabled, ledger.ended);
        return {
          ...category,
          enabled: enabled && state.enabled,
          temporary: state.overlay !== undefined,
          origin: state.origin,
          ...(state.overlay !== undefined && { expiresAt: state.overlay.expiresAt }),
        };
      });
    });
  }

  /** Sleeps until the next temporary control ends, or the store is to be read again; not at all without either. */
  function watch(): void {
    if (closed) return;
    const next = ledger.untilNextEnd();
    const waiting = next !== Number.POSITIVE_INFINITY || ledger.unsettled.size > 0 || follower.doubtful;
    if (!waiting) return;
    const wait = Math.min(TICK_MS, next > 0 ? Math.ceil(next) : TICK_MS);
    const dueAt = clock.monotonic() + wait;
    if (timer !== undefined && timer.dueAt <= dueAt) return;
    timer?.stop();
    const stop = outsideRequests(() => delay(wait, tick));
    timer = { dueAt, stop };
  }

  function tick(): void {
    timer = undefined;
    sweep();
    if (follower.doubtful) void follower.read().then(sweep);
    watch();
  }

  return {
    // Commands that come meanwhile wait for it, rather than be refused.
    start: () => serially(follower.read).then(sweep),
    async control(request, context) {
      if (closed) throw unavailable('The server is shutting down');
      overlaySeconds(request, limits);
      const { replay } = context;
      if (replay === undefined) return queue.answer(request, context);
      const running = inProgress.get(replay.key);
      if (running !== undefined) {
        if (running !== replay.fingerprint) throw reused();
        throw new RdcpError('RDCP_REQUEST_IN_PROGRESS', 'The request with this id is still being worked on', {
          headers: { 'Retry-After': '1' },
        });
      }
      inProgress.set(replay.key, replay.fingerprint);
      try {
        return await queue.answer(request, context);
      } finally {
        inProgress.delete(replay.key);
      }
    },
    view: ({ key }) => viewOf(key),
    temporaryControls: (scope) => (scope === undefined ? ledger.liveEverywhere() : ledger.live(scope.key)),
    scopes() {
      const found = new Map<ScopeKey, { readonly changedAt?: number }>();
      for (const key of ledger.keys()) {
        if (key === GLOBAL_SCOPE || ledger.settings(key).size === 0) continue;
        const { changedAt } = ledger.stored(key);
        found.set(key, changedAt === undefined ? {} : { changedAt });
      }
      return found;
    },
    get current() {
      return follower.current;
    },
    get lost() {
      return losses.unseen;
    },
    get enabled() {
      return enabled;
    },
    setEnabled(next) {
      enabled = next;
      link.suspend(!next);
      views.forget();
    },
    async close() {
      closed = true;
      timer?.stop();
      follower.close();
      await queue.answered();
      await tail;
      announcer.close();
      link.detach();
    },
  };
}

function tenantIdOf(key: ScopeKey): string | undefined {
  return key === GLOBAL_SCOPE ? undefined : key;
}
