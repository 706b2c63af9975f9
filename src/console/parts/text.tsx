import { printable } from './printable.ts';

/** Text from elsewhere: on its own as to direction, control characters made visible, cut to what a line can show. */
export function Text({ value, most = 300 }: { readonly value: string; readonly most?: number }) {
  const { text, cut } = printable(value, most);
  return <bdi title={cut ? printable(value, 2000).text : undefined}>{text}</bdi>;
}
