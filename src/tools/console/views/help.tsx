import { state } from '../page.ts';
import { Dialog } from '../parts/dialog.tsx';

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'go to or do anything'],
  ['/', 'search or filter'],
  ['g and c t x a f h n', 'categories, tail, failures, audit, fleet, health, tenants'],
  ['n', 'choose a tenant'],
  ['↑ ↓ or k j', 'move in a list'],
  ['Enter', 'open a category'],
  ['e', 'enable, or extend what is on'],
  ['d', 'end now, or disable if permanent'],
  ['t', 'tail; in the lines: only this trace'],
  ['m', 'measure all'],
  ['x, Shift x', 'select, select up to here'],
  ['a', 'select all, or none'],
  ['s p f', 'in the tail: start or stop, pause, follow'],
  ['Esc', 'close, or clear the search'],
  ['?', 'this overview'],
];

export function Help({ onClose }: { readonly onClose: () => void }) {
  const on = state.shortcuts.value;
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
          onChange={({ currentTarget }) => {
            state.shortcuts.value = currentTarget.checked;
          }}
        />
        Single-key shortcuts
      </label>
    </Dialog>
  );
}
