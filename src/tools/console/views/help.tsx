import { state } from '../page.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Check } from '../parts/fields.tsx';

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'go to or do anything'],
  ['/', 'search or filter'],
  ['g and c t x a f h n', 'categories, tail, failures, audit, fleet, health, tenants'],
  ['n', 'choose a tenant'],
  ['↑ ↓ or k j', 'move in a list'],
  ['Enter', 'open a category'],
  ['e', 'enable, or extend what is on'],
  ['d, r', 'end now, or disable if permanent; reset'],
  ['t', 'tail; in the lines: only this trace'],
  ['m', 'measure all'],
  ['x, Shift x', 'select, select up to here'],
  ['a', 'select all, or none'],
  ['l s p f', 'in the tail: lines, start or stop, pause, follow'],
  ['Esc', 'close, or clear the search'],
  ['?', 'this overview'],
];

export function Help({ onClose }: { readonly onClose: () => void }) {
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
      <Check
        label="Single-key shortcuts"
        checked={state.shortcuts.value}
        onCheck={(checked) => {
          state.shortcuts.value = checked;
        }}
      />
    </Dialog>
  );
}
