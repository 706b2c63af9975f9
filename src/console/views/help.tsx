import { Dialog } from '../parts/dialog.tsx';
import type { Connection } from '../state/connection.ts';
import { useStore } from '../state/use-store.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['↑ ↓ or k j', 'move in a list'],
  ['Enter', 'open a category'],
  ['e', 'enable, or prolong what is on'],
  ['d', 'end now, or disable what has no end'],
  ['x', 'select'],
  ['g and c t a f h n', 'categories, tail, audit, fleet, health, tenants'],
  ['Esc', 'close, or clear the search'],
  ['?', 'this overview'],
];

export function Help({ connection, onClose }: { readonly connection: Connection; readonly onClose: () => void }) {
  const on = useStore(connection, (state) => state.shortcuts);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="bar check">
        <input
          type="checkbox"
          checked={on}
          onChange={({ currentTarget }) => connection.know({ shortcuts: currentTarget.checked })}
        />
        Single keys do something
      </label>
    </Dialog>
  );
}
