import { sparklinePath } from './sparkline.ts';

/** Calls a second over the last minutes. Beside it stands the number, so readers of the screen need no picture. */
export function Sparkline({ rates, tall = false }: { readonly rates: ArrayLike<number>; readonly tall?: boolean }) {
  const [width, height] = tall ? [600, 120] : [90, 22];
  return (
    <svg
      class={tall ? 'sparkline tall' : 'sparkline'}
      viewBox={`0 -1 ${width} ${height + 2}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={sparklinePath(rates, width, height)} />
    </svg>
  );
}
