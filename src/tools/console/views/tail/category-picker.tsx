import { useId, useRef } from 'preact/hooks';
import type { DiscoveredCategory } from '../../../../wire/messages.ts';
import { matching } from '../../state/search.ts';

interface CategoryPickerProps {
  readonly categories: ReadonlyMap<string, DiscoveredCategory>;
  readonly chosen: readonly string[];
  readonly disabled: boolean;
  readonly onChange: (chosen: readonly string[]) => void;
}

/** Chooses categories by typing or from the list. */
export function CategoryPicker({ categories, chosen, disabled, onChange }: CategoryPickerProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  function add(completes = false): boolean {
    const names = matching([...categories.keys()], input.current?.value ?? '', completes);
    if (input.current !== null) input.current.value = '';
    if (names.length > 0) onChange([...new Set([...chosen, ...names])]);
    return names.length > 0;
  }
  return (
    <div class="picker">
      <label for={`${id}-input`}>Categories</label>
      <div class="picker-field">
        {chosen.map((name) => (
          <span key={name} class="chip">
            {name}
            <button
              type="button"
              aria-label={`Remove ${name}`}
              disabled={disabled}
              onClick={() => {
                onChange(chosen.filter((each) => each !== name));
                input.current?.focus();
              }}
            >
              ×
            </button>
          </span>
        ))}
        <input
          ref={input}
          id={`${id}-input`}
          list={`${id}-list`}
          disabled={disabled}
          placeholder={chosen.length === 0 ? 'Name, or DB_* for several' : ''}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            // Chosen from the list: whole names come at once.
            if (!(event instanceof InputEvent) || event.inputType === 'insertReplacementText') add();
          }}
          onChange={() => add()}
          onKeyDown={(event) => {
            if ((event.key === 'Enter' || event.key === ',') && add(true)) event.preventDefault();
            if (event.key === 'Backspace' && event.currentTarget.value === '') onChange(chosen.slice(0, -1));
          }}
        />
        <datalist id={`${id}-list`}>
          {[...categories.values()].map(
            ({ name, description }) =>
              !chosen.includes(name) && (
                <option key={name} value={name}>
                  {description.slice(0, 80)}
                </option>
              ),
          )}
        </datalist>
      </div>
    </div>
  );
}
