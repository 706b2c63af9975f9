import type { ComponentChildren } from 'preact';

interface SearchBarProps {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
  /** Other filters, and the number of results. */
  readonly children?: ComponentChildren;
}

export function SearchBar({ label, value, onSearch, children }: SearchBarProps) {
  return (
    <search class="bar">
      <input
        type="search"
        class="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
      {children}
    </search>
  );
}
