import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { printable } from './printable.ts';

/** UTF-16 code units that are shown at first, and at most. */
const SHORT = 1000;
const LONG = 100_000;

/** Text from elsewhere with its line breaks. What is long is shown as a whole only when somebody asks for it. */
export function LongText({ value }: { readonly value: string }) {
  const [whole, setWhole] = useState(false);
  const lines = value.slice(0, whole ? LONG : SHORT).split('\n');
  return (
    <>
      <bdi class="long-text">{lines.map((line) => printable(line, LONG).text).join('\n')}</bdi>
      {value.length > SHORT && (
        <Button kind="quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show all ${value.length.toLocaleString()} characters`}
        </Button>
      )}
    </>
  );
}
