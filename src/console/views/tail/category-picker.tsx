import { useId, useRef, useState } from 'preact/hooks';
import type { DiscoveredCategory } from '../../../protocol/messages.ts';
import { Text } from '../../parts/text.tsx';
import { matching } from './matching.ts';

export interface CategoryPickerProps {
  readonly categories: ReadonlyMap<string, DiscoveredCategory>;
  readonly chosen: readonly string[];
  readonly disabled: boolean;
  readonly onChange: (chosen: readonly string[]) => void;
}

/** Chooses categories by search, with mouse or keys: arrows, Enter, Escape, Backspace. */
export function CategoryPicker({ categories, chosen, disabled, onChange }: CategoryPickerProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [search, setSearch] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const found = isOpen ? matching(categories, search, chosen) : [];
  const shown = found.slice(0, 50);
  const at = Math.min(active, shown.length - 1);

  const choose = (names: readonly string[]) => {
    onChange([...new Set([...chosen, ...names])]);
    setSearch('');
    setActive(0);
    input.current?.focus();
  };
  const remove = (name: string) => {
    onChange(chosen.filter((each) => each !== name));
    input.current?.focus();
  };

  function onKeyDown(event: KeyboardEvent): void {
    const { key } = event;
    if (key === 'Escape' && isOpen) setOpen(false);
    else if (key === 'Backspace' && search === '' && chosen.length > 0) onChange(chosen.slice(0, -1));
    else if (key === 'ArrowDown' && !isOpen) setOpen(true);
    else if (key === 'ArrowDown') setActive(Math.min(at + 1, shown.length - 1));
    else if (key === 'ArrowUp') setActive(Math.max(at - 1, 0));
    else if (key === 'Enter' && isOpen && search !== '') {
      // A pattern takes all that it matches.
      const names = search.includes('*')
        ? found.map(({ name }) => name)
        : shown.slice(at, at + 1).map(({ name }) => name);
      if (names.length > 0) choose(names);
    } else return;
    event.preventDefault();
  }

  return (
    <div
      class="picker"
      onFocusOut={(event) => event.currentTarget.contains(event.relatedTarget as Node) || setOpen(false)}
    >
      <label for={`${id}-input`}>Categories</label>
      <div class="picker-field">
        {chosen.map((name) => (
          <span key={name} class={`chip ${categories.has(name) ? '' : 'unknown'}`}>
            {name}
            <button type="button" aria-label={`Remove ${name}`} disabled={disabled} onClick={() => remove(name)}>
              ×
            </button>
          </span>
        ))}
        <input
          ref={input}
          id={`${id}-input`}
          value={search}
          disabled={disabled}
          placeholder={chosen.length === 0 ? 'Search, or DB_* for several' : ''}
          autocomplete="off"
          spellcheck={false}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen && at >= 0 ? `${id}-${at}` : undefined}
          onFocus={() => setOpen(true)}
          onClick={() => setOpen(true)}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            setSearch(event.currentTarget.value);
            setActive(0);
            setOpen(true);
          }}
        />
      </div>
      <div class="picker-list" hidden={!isOpen || disabled}>
        <div id={`${id}-list`} role="listbox" aria-label="Categories to choose" aria-multiselectable="true">
          {shown.map(({ name, description, metrics }, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active option
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
            <div
              key={name}
              id={`${id}-${index}`}
              role="option"
              aria-selected={false}
              class={index === at ? 'active' : ''}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose([name])}
            >
              <span class="name">{name}</span>
              <Text value={description} most={120} />
              <span class="number">{metrics.callsPerSecond > 0 && `${metrics.callsPerSecond.toFixed(1)}/s`}</span>
            </div>
          ))}
        </div>
        {found.length > shown.length && <p class="muted">{found.length - shown.length} more: type to narrow it down</p>}
        {found.length === 0 && <p class="muted">No {chosen.length > 0 ? 'other ' : ''}category matches</p>}
      </div>
    </div>
  );
}
