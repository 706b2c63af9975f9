import { useState } from 'preact/hooks';
import { replaceQuery, route } from '../../page.ts';
import { Button } from '../../parts/button.tsx';
import { Question } from '../../parts/dialog.tsx';
import { Select } from '../../parts/fields.tsx';
import type { Query } from '../../state/route.ts';

/** The browser keeps them under this name: what to read, by the names that were given. Never a credential or a line. */
const STORED = 'rdcp.tails';

type Saved = Readonly<Record<string, Query>>;

/** Sets of categories and filters, kept in this browser. A link has the same in its address. */
export function SavedTails({ disabled }: { readonly disabled: boolean }) {
  const [saved, setSaved] = useState(read);
  const [asks, setAsks] = useState(false);
  const names = Object.keys(saved).sort();
  const keep = (next: Saved) => {
    write(next);
    setSaved(next);
  };
  // The tenant is not saved: a set is for any.
  const { tenant: _, ...current } = Object.fromEntries([...route.value.query].filter(([, value]) => value !== ''));
  const chosen = names.find((name) => JSON.stringify(saved[name]) === JSON.stringify(current)) ?? '';
  const { [chosen]: __, ...others } = saved;
  return (
    <div class="bar tight">
      {names.length > 0 && (
        <Select
          label="Saved tails"
          value={chosen}
          disabled={disabled}
          options={[['', 'Saved …'], ...names.map((name) => [name, name] as const)]}
          onChoose={(name) => replaceQuery('tail', saved[name] ?? {})}
        />
      )}
      {chosen === '' ? (
        <Button kind="quiet" disabled={!current.categories} onClick={() => setAsks(true)}>
          Save …
        </Button>
      ) : (
        <Button kind="quiet" onClick={() => keep(others)}>
          Forget
        </Button>
      )}
      {asks && (
        <Question
          title="Save this tail"
          label="Name"
          help="Categories and filters are kept in this browser. No line and no credential is."
          verb="Save"
          isValid={(name) => name !== '' && name.length <= 60}
          onAnswer={(name) => keep({ ...saved, [name]: current })}
          onClose={() => setAsks(false)}
        />
      )}
    </div>
  );
}

/** Storage may be full, switched off or written by others: then nothing is saved. */
function read(): Saved {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '{}');
    return typeof stored === 'object' && stored !== null && !Array.isArray(stored) ? (stored as Saved) : {};
  } catch {
    return {};
  }
}

function write(saved: Saved): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(saved));
  } catch {
    // As above.
  }
}
