import type { Clock } from '../clock.ts';
import {
  GLOBAL_SCOPE,
  type Overlay,
  type ScopeKey,
  type ScopeState,
  type Setting,
  type Settings,
} from '../store/state-store.ts';
import { createDeadlines, type End, type Provenance } from './deadlines.ts';
import { createSettingsPacker } from './settings.ts';
import { type Ended, type Layers, liveOverlays, putSetting, sameOverlay } from './state.ts';

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };
const NO_OVERLAYS: ReadonlyMap<string, Overlay> = new Map();
const NONE_ENDED: ReadonlyMap<ScopeKey, ReadonlySet<string>> = new Map();
const NEVER: End = { wall: Number.POSITIVE_INFINITY, monotonic: Number.POSITIVE_INFINITY };

/** Wall time may differ from the monotonic clock's by this much more than before, in milliseconds, and count as not set. */
const STEP_MS = 1000;

/** What this process knows of every scope, and which of its temporary controls are over. */
export interface Ledger {
  readonly ended: Ended;
  /** The scope as the store holds it, as far as this process knows. */
  stored(key: ScopeKey): ScopeState;
  /** The scope's settings as they are in force in this process. */
  settings(key: ScopeKey): Settings;
  /** The layers that decide for a scope in this process. */
  layers(key: ScopeKey): Layers;
  /** The same settings, as a tenant's take less memory: for what is kept. */
  pack(key: ScopeKey, settings: Settings): Settings;
  /** Every scope that was ever written. */
  keys(): Iterable<ScopeKey>;
  /** Takes over what the store holds for a scope. Returns the categories whose setting may be another one. */
  adopt(key: ScopeKey, state: ScopeState, provenance?: Provenance): ReadonlySet<string>;
  /** Puts temporary controls in force in this process alone. */
  overlayHere(key: ScopeKey, overlays: ReadonlyMap<string, Overlay>): void;
  /** Takes back temporary controls of this process alone, where there are any. */
  dropHere(key: ScopeKey, categories: Iterable<string>): void;
  /** Temporary controls of this process alone. */
  here(key: ScopeKey): ReadonlyMap<string, Overlay>;
  /**
   * When a temporary control ended since this was asked last: every category that has one which ended and is not yet taken
   * out, by scope. Costs next to nothing while none did.
   */
  sweep(): ReadonlyMap<ScopeKey, ReadonlySet<string>>;
  /** Scopes with temporary controls that ended and are not yet taken out, or that hold in this process alone. */
  readonly unsettled: ReadonlySet<ScopeKey>;
  /** Milliseconds until the next temporary control ends; infinity when none lives. */
  untilNextEnd(): number;
  /** Live temporary controls of a scope. */
  live(key: ScopeKey): number;
  /** Live temporary controls of all scopes. */
  liveEverywhere(): number;
  /** Tells ends anew when the wall clock was set since this was asked last. True when it was. */
  noticeClock(): boolean;
}

export function createLedger(clock: Clock, maxDuration: number): Ledger {
  const deadlines = createDeadlines(clock, maxDuration);
  const { ended } = deadlines;
  const packTenant = createSettingsPacker();
  const states = new Map<ScopeKey, ScopeState>();
  /** Temporary controls of this process alone, and the settings of such scopes with them put in. */
  const local = new Map<ScopeKey, ReadonlyMap<string, Overlay>>();
  const merged = new Map<ScopeKey, Settings>();
  /** Scopes with temporary controls, so that nobody walks through all tenants to find a few. */
  const temporary = new Set<ScopeKey>();
  const unsettled = new Set<ScopeKey>();
  let next = NEVER;
  let offset = clock.now() - clock.monotonic();

  const stored = (key: ScopeKey): ScopeState => states.get(key) ?? UNWRITTEN;
  const here = (key: ScopeKey): ReadonlyMap<string, Overlay> => local.get(key) ?? NO_OVERLAYS;
  const settings = (key: ScopeKey): Settings => merged.get(key) ?? stored(key).settings;

  /** There is one global scope, and everybody reads it: it stays as it is. */
  const pack = (key: ScopeKey, given: Settings): Settings => (key === GLOBAL_SCOPE ? given : packTenant(given));

  /** Visits every overlay of a scope, the stored ones and those of this process alone, ended or not. */
  function eachOverlay(key: ScopeKey, visit: (overlay: Overlay, category: string) => void): void {
    stored(key).settings.forEach(({ temporary }, category) => {
      if (temporary !== undefined) visit(temporary, category);
    });
    here(key).forEach(visit);
  }

  /** Keeps the lists of what is temporary and what ends next, after a scope became another one. */
  function index(key: ScopeKey): void {
    const own = here(key);
    if (own.size === 0) merged.delete(key);
    else {
      const together = new Map(stored(key).settings);
      for (const [category, overlay] of own) {
        putSetting(together, category, { ...together.get(category), temporary: overlay });
      }
      merged.set(key, together);
    }
    temporary.delete(key);
    unsettled.delete(key);
    if (own.size > 0) unsettled.add(key);
    eachOverlay(key, (overlay) => {
      temporary.add(key);
      if (ended(overlay)) unsettled.add(key);
      else next = earlier(next, deadlines.endOf(overlay));
    });
  }

  function setHere(key: ScopeKey, overlays: ReadonlyMap<string, Overlay>): void {
    if (overlays.size === 0) local.delete(key);
    else local.set(key, overlays);
    index(key);
  }

  function withDeadlines(overlays: ReadonlyMap<string, Overlay>, previous: ReadonlyMap<string, Overlay>) {
    const asSettings = (map: ReadonlyMap<string, Overlay>): Settings =>
      new Map([...map].map(([category, overlay]) => [category, { temporary: overlay }]));
    const adopted = deadlines.adopt(asSettings(overlays), asSettings(previous), {});
    return new Map([...adopted].flatMap(([category, { temporary }]) => (temporary ? [[category, temporary]] : [])));
  }

  return {
    ended,
    stored,
    settings,
    here,
    layers: (key) => ({
      global: settings(GLOBAL_SCOPE),
      tenant: key === GLOBAL_SCOPE ? undefined : settings(key),
    }),
    pack,
    keys: () => states.keys(),

    adopt(key, state, provenance = { writtenAt: state.changedAt }) {
      const previous = stored(key);
      const adopted = deadlines.adopt(state.settings, previous.settings, provenance);
      const touched = changedBetween(previous.settings, adopted);
      states.set(key, withSettings(state, pack(key, adopted)));
      // Whoever changed the category later, for all processes, is right; what the store has is not of this one alone.
      const own = [...here(key)].filter(
        ([category, overlay]) => !touched.has(category) && !sameOverlay(adopted.get(category)?.temporary, overlay),
      );
      if (own.length < here(key).size) setHere(key, new Map(own));
      else index(key);
      return touched;
    },

    overlayHere(key, overlays) {
      const before = here(key);
      setHere(key, withDeadlines(new Map([...before, ...overlays]), before));
    },

    dropHere(key, categories) {
      const own = new Map(here(key));
      for (const category of categories) own.delete(category);
      if (own.size < here(key).size) setHere(key, own);
    },

    sweep() {
      if (clock.now() < next.wall && clock.monotonic() < next.monotonic) return NONE_ENDED;
      const found = new Map<ScopeKey, Set<string>>();
      next = NEVER;
      for (const key of temporary) {
        eachOverlay(key, (overlay, category) => {
          if (ended(overlay)) found.set(key, (found.get(key) ?? new Set()).add(category));
          else next = earlier(next, deadlines.endOf(overlay));
        });
      }
      for (const key of found.keys()) unsettled.add(key);
      return found;
    },

    unsettled,
    untilNextEnd: () => Math.min(next.wall - clock.now(), next.monotonic - clock.monotonic()),
    live: (key) => liveOverlays(settings(key), ended).size,
    liveEverywhere: () => [...temporary].reduce((sum, key) => sum + liveOverlays(settings(key), ended).size, 0),

    noticeClock() {
      const current = clock.now() - clock.monotonic();
      if (Math.abs(current - offset) <= STEP_MS) return false;
      offset = current;
      for (const key of temporary) {
        const state = stored(key);
        states.set(key, withSettings(state, pack(key, deadlines.adopt(state.settings, state.settings, {}))));
        const own = here(key);
        if (own.size > 0) local.set(key, withDeadlines(own, own));
      }
      for (const key of [...temporary]) index(key);
      return true;
    },
  };
}

function withSettings({ revision, changedAt }: ScopeState, settings: Settings): ScopeState {
  return changedAt === undefined ? { revision, settings } : { revision, settings, changedAt };
}

function earlier(a: End, b: End): End {
  return { wall: Math.min(a.wall, b.wall), monotonic: Math.min(a.monotonic, b.monotonic) };
}

/** The categories whose setting is another one. */
function changedBetween(before: Settings, after: Settings): Set<string> {
  const changed = new Set<string>();
  after.forEach((setting, category) => {
    if (!sameSetting(before.get(category), setting)) changed.add(category);
  });
  before.forEach((_setting, category) => {
    if (!after.has(category)) changed.add(category);
  });
  return changed;
}

function sameSetting(a: Setting | undefined, b: Setting | undefined): boolean {
  if (a === b) return true;
  return a?.permanent === b?.permanent && sameOverlay(a?.temporary, b?.temporary);
}
