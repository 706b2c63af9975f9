import type { AuditDraft } from '../audit/types.ts';
import type { Clock } from '../clock.ts';
import { GLOBAL_SCOPE, type Overlay, type ScopeKey, type Settings } from '../store/state-store.ts';
import { expiryDraft, reconciliationDraft } from './drafts.ts';
import type { Ledger } from './ledger.ts';
import { sameOverlay } from './state.ts';
import { changesBetween, expire, type Situation, share, type Transition } from './transition.ts';
import type { Writer } from './writer.ts';

export interface SettlementOptions {
  readonly ledger: Ledger;
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now'>;
  readonly situationOf: (key: ScopeKey) => Situation;
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /** Takes back temporary controls of this process alone, for the gate too. */
  readonly dropHere: (key: ScopeKey, categories: readonly string[]) => void;
  /** Whether the store may be asked now. */
  readonly reachable: () => boolean;
}

type Outcome = Pick<Transition, 'categories' | 'changes'>;

/** New settings of a scope, and the entry that tells of them. */
interface Written {
  readonly settings: Settings;
  readonly draft: AuditDraft;
}

/** How often a settlement is written again when others keep changing the scope. */
const MAX_ATTEMPTS = 16;

/**
 * Brings together what time and outages have left apart: temporary controls that ended go out of the state, those that
 * were set in this process alone become everybody's, and the trail tells of both.
 */
export function createSettlement(options: SettlementOptions) {
  const { ledger, writer, clock, situationOf, tenantOf, reachable } = options;

  /** What the store says, without what is in force in this process alone. */
  function storedSituation(key: ScopeKey): Situation {
    const { settings } = ledger.stored(key);
    const situation = situationOf(key);
    return key === GLOBAL_SCOPE ? { ...situation, global: settings } : { ...situation, tenant: settings };
  }

  /** What the end of temporary controls of this process alone means in it. */
  function dropHere(key: ScopeKey, before: Situation, categories: readonly string[]): Outcome {
    options.dropHere(key, categories);
    return changesHere(key, before, categories);
  }

  function changesHere(key: ScopeKey, before: Situation, categories: readonly string[]): Outcome {
    return { categories, changes: changesBetween(before, situationOf(key), categories, clock.now()) };
  }

  /** Nobody else knows of these, so this process alone tells of their end, when the store is back if need be. */
  async function endHere(key: ScopeKey): Promise<void> {
    const over = new Map([...ledger.here(key)].filter(([, overlay]) => ledger.ended(overlay)));
    if (over.size === 0) return;
    const before = situationOf(key);
    const overlays = new Set(over.values());
    const inForce: Situation = { ...before, ended: (overlay) => !overlays.has(overlay) && before.ended(overlay) };
    const draft = expiryDraft(dropHere(key, inForce, [...over.keys()].sort()), tenantOf(key));
    if (!reachable() || !(await writer.written({ draft }))) writer.writeLater({ draft });
  }

  /** What was set in this process alone, as everybody's; `undefined` when there is nothing (left) to share. */
  function shareable(key: ScopeKey): Written | undefined {
    const here = ledger.here(key);
    if (here.size === 0) return undefined;
    const { settings, categories, changes, excess } = share(storedSituation(key), here, clock.now());
    if (excess.length > 0) {
      const left = dropHere(key, situationOf(key), excess);
      writer.writeLater({
        draft: reconciliationDraft(left, tenantOf(key), 'no room among the temporary controls in force'),
      });
    }
    if (categories.length === 0) return undefined;
    const draft = reconciliationDraft(
      { categories, changes },
      tenantOf(key),
      'set in one process while the store could not be reached',
    );
    return { settings, draft };
  }

  function expired(key: ScopeKey): Written | undefined {
    const expiry = expire(storedSituation(key), clock.now());
    return expiry && { settings: expiry.settings, draft: expiryDraft(expiry, tenantOf(key)) };
  }

  /**
   * Writes what is computed on what the store holds, until there is nothing to write. Where others who change the scope come
   * first each time, it stays unsettled.
   */
  async function write(key: ScopeKey, compute: (key: ScopeKey) => Written | undefined): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS && reachable(); attempt++) {
      const written = compute(key);
      if (written === undefined) return;
      const { draft, settings } = written;
      const { revision: expectedRevision } = ledger.stored(key);
      await writer.write({ draft, state: { scope: key, expectedRevision, settings } });
    }
  }

  return {
    /**
     * An end in the store is written once, by whoever of the processes that share it comes first: the others find it gone.
     * @throws {RdcpError} when the store did not take it; the scope stays {@link Ledger.unsettled}
     */
    async settle(key: ScopeKey): Promise<void> {
      if (ledger.here(key).size > 0) {
        await endHere(key);
        await write(key, shareable);
      }
      await write(key, expired);
    },

    /**
     * Tells which temporary controls of this process alone a change for everybody has just ended.
     * @param before the scope until then
     * @param here what of it was of this process alone
     */
    superseded(key: ScopeKey, before: Situation, here: ReadonlyMap<string, Overlay>): void {
      const { settings } = ledger.stored(key);
      const still = ledger.here(key);
      const categories = [...here]
        .filter(
          ([category, overlay]) => !still.has(category) && !sameOverlay(settings.get(category)?.temporary, overlay),
        )
        .map(([category]) => category)
        .sort();
      if (categories.length === 0) return;
      const ended = changesHere(key, before, categories);
      writer.writeLater({ draft: reconciliationDraft(ended, tenantOf(key), 'changed for all meanwhile') });
    },
  };
}

export type Settlement = ReturnType<typeof createSettlement>;
