import { useState } from 'preact/hooks';
import { printable } from './printable.ts';

/** Text from elsewhere: on its own as to direction, control characters made visible, cut to what a line can show. */
export function Text({ value, most = 300 }: { readonly value: string; readonly most?: number }) {
  const { text, cut } = printable(value, most);
  return <bdi title={cut ? printable(value, 2000).text : undefined}>{text}</bdi>;
}

/** Characters of a long text that are shown before somebody asks for more. */
const BEGINNING = 400;

/** Text from elsewhere that may be long: its beginning, and all of it on request. */
export function LongText({ value }: { readonly value: string }) {
  const [open, setOpen] = useState(false);
  const { text } = printable(value, open ? Number.POSITIVE_INFINITY : BEGINNING);
  return (
    <div class={open ? 'long-text open' : 'long-text'}>
      <bdi>{text}</bdi>
      {value.length > BEGINNING && (
        <button type="button" class="button quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Less' : `All ${value.length.toLocaleString('en')} characters`}
        </button>
      )}
    </div>
  );
}
