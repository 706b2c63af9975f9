import uFuzzy from '@leeoniya/ufuzzy';
import { useId, useMemo, useState } from 'preact/hooks';
import { connection, hrefOf, state } from '../page.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Text } from '../parts/text.tsx';
import { useFocus } from '../parts/use-focus.ts';
import { href, type ViewName } from '../state/route.ts';
import { tail, tailOf } from './tail/running-tail.ts';

/** Something to do or to go to. */
export interface Command {
  readonly text: string;
  readonly icon: IconName;
  readonly run: () => unknown;
}

interface PaletteProps {
  readonly views: readonly (readonly [ViewName, string])[];
  readonly onHelp: () => void;
  readonly onChoose: (command: Command) => void;
  readonly onClose: () => void;
}

/** Most results that are shown. */
const MOST = 12;
const fuzzy = new uFuzzy({ intraIns: 5 });

/** Finds views, categories, tenants and actions by a few letters of their names. */
export function Palette({ views, onHelp, onChoose, onClose }: PaletteProps) {
  const field = useFocus<HTMLInputElement>();
  const id = useId();
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const commands = useMemo(() => commandsOf(views, onHelp), []);
  const found = useMemo(() => matching(commands, typed), [typed]);
  return (
    <Dialog title="Go to or do" onClose={onClose}>
      <div class="palette">
        <input
          ref={field}
          role="combobox"
          aria-label="Views, categories, tenants and actions"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found[chosen] && `${id}-${chosen}`}
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined) {
              event.preventDefault();
              setChosen(Math.min(Math.max(chosen + step, 0), found.length - 1));
            } else if (event.key === 'Enter') {
              event.preventDefault();
              const command = found[chosen];
              if (command) onChoose(command);
            }
          }}
        />
        <div id={id} role="listbox" aria-label="Results">
          {found.map((command, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys
            <div
              key={command.text}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === chosen}
              onClick={() => onChoose(command)}
            >
              <Icon name={command.icon} /> <Text value={command.text} most={120} />
            </div>
          ))}
        </div>
        {found.length === 0 && <p class="muted">Nothing matches.</p>}
      </div>
    </Dialog>
  );
}

/** The commands that a few letters mean, the best first. */
export function matching(commands: readonly Command[], typed: string): readonly Command[] {
  if (typed.trim() === '') return commands.slice(0, MOST);
  const texts = commands.map(({ text }) => text);
  const [indices, info, order] = fuzzy.search(texts, typed, 1);
  if (indices === null) return [];
  const sorted = info === null ? indices : order.map((at) => info.idx[at] as number);
  return sorted.slice(0, MOST).map((at) => commands[at] as Command);
}

function commandsOf(views: PaletteProps['views'], onHelp: () => void): readonly Command[] {
  const commands: Command[] = [];
  const add = (icon: IconName, text: string, run: () => unknown) => commands.push({ icon, text, run });
  for (const [view, text] of views) add('view', text, () => location.assign(hrefOf(view)));
  if (tail.isRunning) add('action', 'Stop the tail', () => tail.stop());
  if (connection.mayMeasure() && state.categories.value) add('action', 'Measure all', () => connection.measureAll());
  add('action', 'Keyboard shortcuts', onHelp);
  add('action', 'Sign out', () => connection.signOut());
  if (connection.choosesTenants) {
    add('tenant', 'Tenant: everybody', () => connection.chooseTenant(undefined));
    for (const { id, name } of state.tenants.value ?? []) {
      add('tenant', `Tenant: ${name === undefined ? id : `${name} (${id})`}`, () => connection.chooseTenant(id));
    }
  }
  for (const category of state.categories.value?.values() ?? []) {
    const { name } = category;
    add('category', name, () => location.assign(href('categories', name)));
    if (connection.mayTail) add('tail', `Tail ${name}`, () => tailOf([name]));
    for (const [intent, text] of connection.offers(category)) {
      add('action', `${text.replace('…', '')} ${name}`, () => connection.ask(intent, [name]));
    }
  }
  return commands;
}
