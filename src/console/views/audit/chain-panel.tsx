import { Badge } from '../../parts/badge.tsx';
import { Fields } from '../../parts/fields.tsx';
import type { ChainState } from './chain-check.ts';

export interface ChainPanelProps {
  /** `undefined` before the first result, and where the browser computes no hashes. */
  readonly chain: ChainState | undefined;
  /** Whether filters leave entries out. */
  readonly isFiltered: boolean;
}

/** What the hashes of the loaded entries show, and what they do not. */
export function ChainPanel({ chain, isFiltered }: ChainPanelProps) {
  if (chain === undefined) {
    return crypto.subtle ? null : <p class="muted">Hashes are checked here over HTTPS and on loopback.</p>;
  }
  const { checked, changed, unlinked, links, missing } = chain;
  const isBroken = changed.length + unlinked.length > 0;
  const gaps = missing > 0 && !isFiltered;
  return (
    <details class="chain" open={isBroken}>
      <summary>
        <Badge tone={isBroken ? 'error' : gaps ? 'warning' : 'good'}>
          {isBroken ? 'Chain broken' : gaps ? 'Entries missing' : 'Chain intact'}
        </Badge>{' '}
        {checked} entries checked
      </summary>
      <Fields
        of={{
          'Match their hash': checked - changed.length,
          'Changed since written': changed.length,
          'Link to the entry before': links,
          'Do not, as one was removed, added or replaced': unlinked.length,
          'Not loaded between them': missing,
        }}
      />
      <p>
        This shows whether loaded entries were changed, not that none is missing at either end, nor that this server
        shows the true trail. For that: <code>rdcp audit verify --store … --checkpoints …</code>
      </p>
    </details>
  );
}
