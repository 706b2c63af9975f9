import { GLOBAL_SCOPE, type ScopeKey, type Settings } from '../store/state-store.ts';
import type { Ledger } from './ledger.ts';
import type { Situation } from './transition.ts';

/** The scopes as they are to be once the changes planned so far are written: what a later command of them meets. */
export interface Prospect {
  situation(key: ScopeKey): Situation;
  /** Plans a change, and returns it as the store is to be told. */
  change(key: ScopeKey, settings: Settings): PlannedChange;
}

export interface PlannedChange {
  readonly scope: ScopeKey;
  readonly expectedRevision: number;
  readonly settings: Settings;
}

export function createProspect(ledger: Pick<Ledger, 'stored'>, situationOf: (key: ScopeKey) => Situation): Prospect {
  const planned = new Map<ScopeKey, PlannedChange>();
  const ahead = (key: ScopeKey, settings: Settings): Settings => planned.get(key)?.settings ?? settings;
  return {
    situation(key) {
      const situation = situationOf(key);
      if (planned.size === 0) return situation;
      const { global, tenant } = situation;
      return { ...situation, global: ahead(GLOBAL_SCOPE, global), tenant: tenant && ahead(key, tenant) };
    },
    change(key, settings) {
      const before = planned.get(key)?.expectedRevision;
      const expectedRevision = before === undefined ? ledger.stored(key).revision : before + 1;
      const change = { scope: key, expectedRevision, settings };
      planned.set(key, change);
      return change;
    },
  };
}
