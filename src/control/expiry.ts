import type { Clock } from '../clock.ts';
import { GLOBAL_SCOPE, type ScopeKey } from '../store/state-store.ts';
import { expiryDraft } from './drafts.ts';
import type { Ledger } from './ledger.ts';
import { changesBetween, expire, type Situation } from './transition.ts';
import type { Writer } from './writer.ts';

export interface ExpiryOptions {
  readonly ledger: Ledger;
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now'>;
  readonly situationOf: (key: ScopeKey) => Situation;
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /** Makes the gate follow. */
  readonly apply: (key: ScopeKey, categories: Iterable<string>) => void;
  /** Whether the store may be asked now. */
  readonly reachable: () => boolean;
}

/** How often the end of temporary controls is written again when others keep changing the scope. */
const MAX_ATTEMPTS = 16;

/** Takes temporary controls that ended out of the state, and tells the trail. The gate has followed long before. */
export function createExpiry(options: ExpiryOptions) {
  const { ledger, writer, clock, situationOf, tenantOf, apply, reachable } = options;

  /** What the store says, without what is in force in this process alone. */
  function storedSituation(key: ScopeKey): Situation {
    const { settings } = ledger.stored(key);
    const situation = situationOf(key);
    return key === GLOBAL_SCOPE ? { ...situation, global: settings } : { ...situation, tenant: settings };
  }

  /** Nobody else knows of these, so this process alone tells of their end, when the store is back if need be. */
  async function settleHere(key: ScopeKey): Promise<void> {
    const over = new Map([...ledger.here(key)].filter(([, overlay]) => ledger.ended(overlay)));
    if (over.size === 0) return;
    const before = situationOf(key);
    const overlays = new Set(over.values());
    const inForce: Situation = { ...before, ended: (overlay) => !overlays.has(overlay) && before.ended(overlay) };
    const categories = [...over.keys()].sort();
    ledger.dropHere(key, categories);
    apply(key, categories);
    const known = categories.filter((category) => before.defaults.has(category));
    const changes = changesBetween(inForce, situationOf(key), known, clock.now());
    const draft = expiryDraft({ categories, changes }, tenantOf(key));
    if (!reachable() || !(await writer.written({ draft }))) writer.writeLater({ draft });
  }

  return {
    /**
     * Once, whoever of the processes that share the store comes first: the others find it gone.
     * @throws {RdcpError} when the store did not take it; the temporary controls stay in {@link Ledger.overdue}
     */
    async settle(key: ScopeKey): Promise<void> {
      await settleHere(key);
      for (let attempt = 0; attempt < MAX_ATTEMPTS && ledger.overdue.has(key) && reachable(); attempt++) {
        const expiry = expire(storedSituation(key), clock.now());
        if (expiry === undefined) return;
        const { revision: expectedRevision } = ledger.stored(key);
        await writer.write({
          draft: expiryDraft(expiry, tenantOf(key)),
          state: { scope: key, expectedRevision, settings: expiry.settings },
        });
      }
    },
  };
}

export type Expiry = ReturnType<typeof createExpiry>;
