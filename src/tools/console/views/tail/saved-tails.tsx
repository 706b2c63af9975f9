import { useState } from 'preact/hooks';
import { replaceQuery, route } from '../../page.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { useFocus } from '../../parts/use-focus.ts';
import type { Query } from '../../state/route.ts';

/** The browser keeps them under this name: what to read, by the names that were given. Never a credential or a line. */
const STORED = 'rdcp.tails';
/** Parts of the address that are saved. The tenant is not: a set is for any. */
const UNSAVED = ['tenant'];

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
  const current = withoutTenant(Object.fromEntries(route.value.query));
  const isAt = (name: string) => JSON.stringify(saved[name]) === JSON.stringify(current);
  const chosen = names.find(isAt) ?? '';
  return (
    <div class="bar tight">
      {names.length > 0 && (
        <select
          aria-label="Saved tails"
          value={chosen}
          disabled={disabled}
          onChange={({ currentTarget }) => replaceQuery('tail', saved[currentTarget.value] ?? {})}
        >
          <option value="">Saved …</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      {chosen === '' ? (
        <Button kind="quiet" disabled={!current.categories} onClick={() => setAsks(true)}>
          Save …
        </Button>
      ) : (
        <Button
          kind="quiet"
          onClick={() => {
            const { [chosen]: _, ...rest } = saved;
            keep(rest);
          }}
        >
          Forget
        </Button>
      )}
      {asks && (
        <NameDialog
          onClose={() => setAsks(false)}
          onName={(name) => {
            setAsks(false);
            keep({ ...saved, [name]: current });
          }}
        />
      )}
    </div>
  );
}

function NameDialog({ onClose, onName }: { readonly onClose: () => void; readonly onName: (name: string) => void }) {
  const field = useFocus<HTMLInputElement>();
  return (
    <Dialog title="Save this tail" onClose={onClose}>
      <form
        class="switch"
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation();
          const name = field.current?.value.trim() ?? '';
          if (name !== '') onName(name);
        }}
      >
        <label class="field">
          <span>Name</span>
          <input ref={field} required maxLength={60} placeholder="checkout" autocomplete="off" />
        </label>
        <p class="muted">Categories and filters are kept in this browser. No line and no credential is.</p>
        <div class="bar">
          <Button type="submit" kind="primary">
            Save
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}

function withoutTenant(query: Query): Query {
  return Object.fromEntries(Object.entries(query).filter(([name, value]) => !UNSAVED.includes(name) && value));
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
