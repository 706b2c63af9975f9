import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { printable } from './format.ts';

/** Text from elsewhere: on its own as to direction, control characters made visible, cut to what a line can show. */
export function Text({ value, most = 300 }: { readonly value: string; readonly most?: number }) {
  const { text, cut } = printable(value, most);
  return <bdi title={cut ? printable(value, 2000).text : undefined}>{text}</bdi>;
}

/** UTF-16 code units that are shown at first, and at most. */
const SHORT = 1000;
const LONG = 100_000;

/** Text from elsewhere with its line breaks. A long text is cut, with a button that shows all of it. */
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
