import type { Clock, Delay } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import type { Attachment, CategoryDescriptor, Gate, Sink } from '../gate/types.ts';
import { REPLAY_WINDOW_MS } from '../protocol/constants.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { AuditEntry, ControlResponse } from '../protocol/messages.ts';
import {
  type CommitResult,
  GLOBAL_SCOPE,
  type Overlay,
  type ReplayRecord,
  type ScopeKey,
  type ScopeState,
  type StateStore,
} from '../store/state-store.ts';
import { type CategoryOverride, createCatalogue } from './catalogue.ts';
import { createDeadlines } from './deadlines.ts';
import { controlResponse } from './response.ts';
import { effectiveState, liveOverlays, settingState } from './state.ts';
import { type ControlLimits, expire, type Situation, type Transition, transition } from './transition.ts';
import type {
  AuditDraft,
  AuditRecorder,
  CategoryView,
  CommandContext,
  ControlOutcome,
  ControlPlane,
  Scope,
} from './types.ts';

export interface ControlPlaneOptions {
  readonly gate: Gate;
  readonly store: Pick<StateStore, 'load' | 'commit' | 'findReplay' | 'subscribe'>;
  readonly audit: AuditRecorder;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly delay: Delay;
  readonly limits: ControlLimits & { readonly maxCategories: number };
  /** What the configuration says of categories, over what the code registered. */
  readonly overrides: Readonly<Record<string, CategoryOverride>>;
  /** Told of what goes wrong outside any request. */
  readonly report: (error: unknown) => void;
}

/** How often a control whose scope others keep changing is computed again. */
const MAX_ATTEMPTS = 8;
/** Longest sleep while a temporary control lives, in milliseconds: a clock that jumped is noticed by then. */
const TICK_MS = 1000;

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };

/** Puts the gate under control, at once with every category's default; {@link ControlPlane.start} brings what is stored. */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { gate, store, audit, sink, clock, delay, limits, overrides, report } = options;
  const catalogue = createCatalogue(gate, overrides);
  const deadlines = createDeadlines(clock);
  const { ended } = deadlines;
  const scopes = new Map<ScopeKey, ScopeState>();
  /** The scopes with temporary controls, so that nobody walks through all tenants to find a few. */
  const temporary = new Set<ScopeKey>();
  /** Request ids that are being worked on, with the fingerprint of their request. */
  const inProgress = new Map<string, string>();
  let enabled = true;
  let loaded = false;
  let closed = false;
  let tail: Promise<unknown> = Promise.resolve();
  let stopTimer: () => void = () => undefined;
  let unsubscribe: () => void = () => undefined;

  const attachment: Attachment = gate.attach({
    sink,
    maxCategories: limits.maxCategories,
    registered(category: CategoryDescriptor) {
      catalogue.add(category);
      for (const key of scopes.keys()) applyCategory(scopeOf(key), category.name);
      if (!scopes.has(GLOBAL_SCOPE)) applyCategory(GLOBAL, category.name);
    },
    failed: (_category, error) => report(error),
  });
  try {
    for (const name of Object.keys(overrides)) gate.category(name);
  } catch (cause) {
    attachment.detach();
    const details = { field: 'categories' };
    throw new RdcpError('RDCP_CONFIG_INVALID', 'configuration: categories are more than limits.maxCategories', {
      details,
      cause,
    });
  }
  for (const name of catalogue.defaults.keys()) applyCategory(GLOBAL, name);

  function stateOf(scope: Scope): ScopeState {
    return scopes.get(scope.key) ?? UNWRITTEN;
  }

  function situationOf(scope: Scope): Situation {
    const global = stateOf(GLOBAL).settings;
    const tenant = scope.key === GLOBAL_SCOPE ? undefined : stateOf(scope).settings;
    return { global, tenant, defaults: catalogue.defaults, limits, ended };
  }

  /** Takes over what a scope has become, and makes the gate follow. */
  function adopt(scope: Scope, state: ScopeState): void {
    const previous = stateOf(scope);
    if (state.revision < previous.revision) return;
    deadlines.adopt(state.settings, previous.settings);
    scopes.set(scope.key, state);
    if ([...state.settings.values()].some((setting) => setting.temporary !== undefined)) temporary.add(scope.key);
    else temporary.delete(scope.key);
    for (const name of new Set([...previous.settings.keys(), ...state.settings.keys()])) applyCategory(scope, name);
    wakeInTime();
  }

  /** A tenant's setting is an override of the gate; the global one and the default are its base. */
  function applyCategory(scope: Scope, name: string): void {
    const index = catalogue.indexOf(name);
    if (index === undefined) return;
    const setting = stateOf(scope).settings.get(name);
    if (scope.tenantId !== undefined) {
      attachment.setTenant(scope.tenantId, index, settingState(setting, 'tenant', ended)?.enabled);
    } else {
      attachment.setBase(
        index,
        settingState(setting, 'global', ended)?.enabled ?? catalogue.defaults.get(name) === true,
      );
    }
  }

  /** One after the other, so that each command computes on what the one before it left. */
  function serially<T>(work: () => Promise<T>): Promise<T> {
    const done = tail.then(work);
    tail = done.catch(() => undefined);
    return done;
  }

  /** Writes through the trail; what fails there changes nothing. */
  async function commit(
    draft: AuditDraft,
    scope: Scope,
    settings: ScopeState['settings'] | undefined,
    replay?: ReplayRecord,
  ): Promise<CommitResult> {
    let reached = false;
    const now = clock.now();
    const { revision: expectedRevision } = stateOf(scope);
    const persist = async (entry: AuditEntry): Promise<CommitResult> => {
      reached = true;
      const result = await store.commit({
        ...(settings !== undefined && { state: { scope: scope.key, expectedRevision, settings } }),
        audit: entry,
        ...(replay !== undefined && { replay }),
        now,
      });
      if (result.outcome === 'committed' && settings !== undefined) {
        adopt(scope, { revision: result.revision ?? expectedRevision + 1, settings, changedAt: now });
      }
      if (result.outcome === 'conflict') adopt(scope, result.current);
      return result;
    };
    try {
      return await audit.record(draft, persist);
    } catch (cause) {
      if (reached) throw unavailable('The change could not be kept, so it was not applied', cause);
      throw new RdcpError('RDCP_AUDIT_WRITE_FAILED', 'The change could not be audited, so it was not applied', {
        cause,
      });
    }
  }

  async function command(request: ControlRequest, context: CommandContext): Promise<ControlOutcome> {
    if (!loaded) throw unavailable('The stored state is not loaded yet');
    await sweep();
    const kept = context.replay && (await findReplay(context.replay.key));
    if (kept !== undefined) return repeated(kept, context);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const now = clock.now();
      const next = await transitionOrAudit(request, context, now);
      const response = controlResponse(request, next, now, context.tenant);
      const settings = request.action === 'status' ? undefined : next.settings;
      const result = await commit(
        draftOf(request, context, next),
        context.scope,
        settings,
        replayOf(context, response, now),
      );
      if (result.outcome === 'committed') return { response, replayed: false };
      if (result.outcome === 'replayed') return repeated(result.replay, context);
    }
    throw unavailable('Others keep changing the same state');
  }

  /** A command that cannot be carried out leaves an entry, too. */
  async function transitionOrAudit(request: ControlRequest, context: CommandContext, now: number): Promise<Transition> {
    try {
      return transition(situationOf(context.scope), request, now);
    } catch (error) {
      if (isRdcpError(error)) {
        const failed = { categories: request.categories ?? [], changes: [] };
        const draft = { ...draftOf(request, context, failed), outcome: 'failed' as const, error: error.code };
        await commit(draft, context.scope, undefined).catch(report);
      }
      throw error;
    }
  }

  async function findReplay(key: string): Promise<ReplayRecord | undefined> {
    try {
      return await store.findReplay(key, clock.now());
    } catch (cause) {
      throw unavailable('The stored state cannot be read now', cause);
    }
  }

  /** Ends what is over: here at once, then in the store and the trail. */
  async function sweep(): Promise<void> {
    for (const key of [...temporary]) {
      const scope = scopeOf(key);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const now = clock.now();
        const expiry = expire(situationOf(scope), now);
        if (expiry === undefined) break;
        for (const name of expiry.categories) applyCategory(scope, name);
        const { categories, changes, settings } = expiry;
        const draft: AuditDraft = {
          action: 'expire',
          categories,
          changes,
          outcome: 'success',
          identity: {},
          ...(scope.tenantId !== undefined && { tenant: { id: scope.tenantId } }),
        };
        const result = await commit(draft, scope, settings);
        if (result.outcome === 'committed') break;
      }
    }
    wakeInTime();
  }

  /** Every overlay, ended or not, with the way to make the gate follow it. */
  function* overlays(): Generator<readonly [apply: () => void, Overlay]> {
    for (const key of temporary) {
      for (const [name, setting] of scopes.get(key)?.settings ?? []) {
        if (setting.temporary !== undefined) yield [() => applyCategory(scopeOf(key), name), setting.temporary];
      }
    }
  }

  /** Sleeps until the next overlay ends, but never long: the clock may jump meanwhile. */
  function wakeInTime(): void {
    stopTimer();
    if (closed) return;
    let next = Number.POSITIVE_INFINITY;
    for (const [, overlay] of overlays()) next = Math.min(next, deadlines.remaining(overlay));
    if (next === Number.POSITIVE_INFINITY) return;
    // What is over already could not be written: it is tried again, but not at once.
    stopTimer = delay(next > 0 ? Math.min(Math.ceil(next), TICK_MS) : TICK_MS, tick);
  }

  function tick(): void {
    for (const [apply, overlay] of overlays()) if (ended(overlay)) apply();
    wakeInTime();
    serially(sweep).catch(report);
  }

  async function load(): Promise<void> {
    try {
      for (const [key, state] of await store.load()) adopt(scopeOf(key), state);
      unsubscribe = store.subscribe((key, state) => adopt(scopeOf(key), state));
      loaded = true;
      await sweep();
    } catch (error) {
      report(error);
      if (!closed && !loaded) stopTimer = delay(TICK_MS, () => void serially(load));
    }
  }

  function view(scope: Scope): readonly CategoryView[] {
    const situation = situationOf(scope);
    return catalogue.sorted().map((category) => {
      const { enabled: on, origin, overlay } = effectiveState(category.name, situation, category.defaultEnabled, ended);
      return {
        ...category,
        enabled: enabled && on,
        temporary: overlay !== undefined,
        origin,
        ...(overlay !== undefined && { expiresAt: overlay.expiresAt }),
      };
    });
  }

  return {
    start: () => serially(load),
    async control(request, context) {
      if (closed) throw unavailable('The server is shutting down');
      const { replay } = context;
      if (replay === undefined) return serially(() => command(request, context));
      const running = inProgress.get(replay.key);
      if (running !== undefined) {
        if (running !== replay.fingerprint) throw reused();
        throw new RdcpError('RDCP_REQUEST_IN_PROGRESS', 'The request with this id is still being worked on');
      }
      inProgress.set(replay.key, replay.fingerprint);
      try {
        return await serially(() => command(request, context));
      } finally {
        inProgress.delete(replay.key);
      }
    },
    view,
    temporaryControls(scope) {
      const keys = scope === undefined ? [...temporary] : [scope.key];
      return keys.reduce((sum, key) => sum + liveOverlays(scopes.get(key)?.settings ?? new Map(), ended).size, 0);
    },
    scopes() {
      const tenants = [...scopes].filter(([key, { settings }]) => key !== GLOBAL_SCOPE && settings.size > 0);
      return new Map(tenants.map(([key, { changedAt }]) => [key, changedAt === undefined ? {} : { changedAt }]));
    },
    get enabled() {
      return enabled;
    },
    setEnabled(next) {
      enabled = next;
      attachment.suspend(!next);
    },
    async close() {
      closed = true;
      stopTimer();
      unsubscribe();
      await tail;
      attachment.detach();
    },
  };
}

const GLOBAL: Scope = { key: GLOBAL_SCOPE };

function scopeOf(key: ScopeKey): Scope {
  return key === GLOBAL_SCOPE ? GLOBAL : { key, tenantId: key };
}

function draftOf(
  { action, options }: ControlRequest,
  { identity, tenant, tenantName, requestId, source }: CommandContext,
  { categories, changes }: Pick<Transition, 'categories' | 'changes'>,
): AuditDraft {
  return {
    action,
    categories,
    changes,
    outcome: 'success',
    identity,
    ...(tenant !== undefined && { tenant: { id: tenant.id, ...(tenantName !== undefined && { name: tenantName }) } }),
    requestId,
    ...(options?.reason !== undefined && { reason: options.reason }),
    ...(source !== undefined && { source }),
  };
}

function replayOf({ replay }: CommandContext, response: ControlResponse, now: number): ReplayRecord | undefined {
  return replay && { ...replay, response: JSON.stringify(response), expiresAt: now + REPLAY_WINDOW_MS };
}

/** The kept answer, for the same request; the same id with another request is refused. */
function repeated(kept: ReplayRecord, { replay }: CommandContext): ControlOutcome {
  if (kept.fingerprint !== replay?.fingerprint) throw reused();
  const response: ControlResponse = JSON.parse(kept.response);
  return { response, replayed: true };
}

function reused(): RdcpError {
  return new RdcpError('RDCP_REQUEST_ID_REUSED', 'The request id was used for another request');
}

function unavailable(message: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', message, { headers: { 'Retry-After': '5' }, cause });
}
