import type { ComponentChildren, JSX } from 'preact';

interface SearchBarProps {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
  /** Further attributes of the input. */
  readonly input?: JSX.IntrinsicElements['input'];
  /** Other filters, and the number of results. */
  readonly children?: ComponentChildren;
}

export function SearchBar({ label, value, onSearch, input, children }: SearchBarProps) {
  return (
    <search class="bar">
      <input
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        {...(input as object)}
        type="search"
        class="search"
        aria-label={label}
        value={value}
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
      {children}
    </search>
  );
}
