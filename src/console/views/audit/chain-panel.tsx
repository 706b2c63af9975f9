import { Badge } from '../../parts/badge.tsx';
import { counted } from '../../parts/counted.ts';
import type { ChainState } from './chain-check.ts';

export interface ChainPanelProps {
  /** `undefined` before the first result. */
  readonly chain: ChainState | undefined;
  /** Whether the browser can compute hashes. */
  readonly canCheck: boolean;
  /** Whether filters leave entries out. */
  readonly isFiltered: boolean;
}

/** What the hashes of the loaded entries show, and what they do not. */
export function ChainPanel({ chain, canCheck, isFiltered }: ChainPanelProps) {
  const bad = chain === undefined ? 0 : chain.changed.length + chain.unlinked.length;
  const gaps = !isFiltered && chain !== undefined && chain.missing > 0;
  const [tone, text] = !canCheck
    ? (['neutral', 'Not checked'] as const)
    : bad > 0
      ? (['error', 'Chain broken'] as const)
      : gaps
        ? (['warning', 'Entries missing'] as const)
        : (['good', 'Chain intact'] as const);
  return (
    <details class="chain" open={bad > 0}>
      <summary>
        <Badge tone={tone}>{text}</Badge>{' '}
        {chain !== undefined && `${counted(chain.checked, 'entry', 'entries')} checked here`}
      </summary>
      {!canCheck && (
        <p>
          This page came over plain HTTP from another host; there the browser computes no hashes. Use HTTPS, or the
          command below.
        </p>
      )}
      {chain !== undefined && (
        <ul>
          <li>{chain.checked - chain.changed.length} match their hash.</li>
          {chain.changed.length > 0 && (
            <li class="bad">{chain.changed.length} were changed after they were written.</li>
          )}
          <li>{counted(chain.links, 'link', 'links')} to the entry before hold.</li>
          {chain.unlinked.length > 0 && (
            <li class="bad">
              {chain.unlinked.length} do not link to the entry before: one was removed, added or replaced.
            </li>
          )}
          {chain.missing > 0 && (
            <li>
              {counted(chain.missing, 'entry', 'entries')} between them{' '}
              {isFiltered ? 'left out by the filters.' : 'not in the answer.'}
            </li>
          )}
          {chain.waiting > 0 && <li>{chain.waiting} wait for the store, and are not in the chain yet.</li>}
        </ul>
      )}
      <p>
        This shows whether the loaded entries were changed after they were written. It does not show that none is
        missing at either end, nor that this server shows the true trail: for that, check the store itself with{' '}
        <code>rdcp audit verify --store … --checkpoints …</code>
      </p>
    </details>
  );
}
