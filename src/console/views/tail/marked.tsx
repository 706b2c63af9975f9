import type { ComponentChildren } from 'preact';
import { printable } from '../../parts/printable.ts';
import type { Filter } from './filter.ts';

/** Text from elsewhere on one line, with what the filter found marked. */
export function Marked({
  value,
  filter,
  most = 400,
}: {
  readonly value: string;
  readonly filter: Filter | undefined;
  readonly most?: number;
}) {
  const text = value.length > most ? value.slice(0, most) : value;
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const [start, end] of filter?.ranges(text) ?? []) {
    parts.push(shown(text.slice(from, start)), <mark>{shown(text.slice(start, end))}</mark>);
    from = end;
  }
  parts.push(shown(text.slice(from)));
  if (value.length > most) parts.push('…');
  return <bdi>{parts}</bdi>;
}

function shown(text: string): string {
  return printable(text.replaceAll('\n', ' ↵ '), Number.POSITIVE_INFINITY).text;
}
