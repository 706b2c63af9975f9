/** Paths in a box of 16 by 16. With them no state is shown by its colour alone. */
const SHAPES = {
  on: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm-.9 8.6L4.6 8.1l1-1 1.5 1.5 3.3-3.3 1 1z',
  off: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z',
  'one-tenant': 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.5v9a4.5 4.5 0 0 1 0-9z',
  good: 'M6.4 12.2 2.6 8.4l1.1-1.1 2.7 2.7 5.9-5.9 1.1 1.1z',
  warning: 'M8 1.6 15 14H1zm-.8 4.2v4h1.6v-4zm0 5v1.5h1.6v-1.5z',
  error: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.8 4.8 8 7l2.2-2.2 1 1L9 8l2.2 2.2-1 1L8 9l-2.2 2.2-1-1L7 8 4.8 5.8z',
  tail: 'M1.5 2.5h13v11h-13zM3 4v8h10V4zm1 1.9.9-.9L7.6 8l-2.7 3-.9-.9L5.8 8zM8 9.6h3.5v1.3H8z',
  search: 'M7 2a5 5 0 0 1 4 8l3 3-1 1-3-3a5 5 0 1 1-3-9zm0 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z',
  category: 'M8.3 2H14v5.7L7.7 14 2 8.3zm3 1.8a1 1 0 1 0 0 2 1 1 0 0 0 0-2z',
  view: 'M2 3h12v10H2zm1.5 3v5.5h9V6z',
  tenant: 'M8 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM2.5 14c0-3 2.5-4.5 5.5-4.5s5.5 1.5 5.5 4.5z',
  action: 'M9 1 3.5 9H7l-.5 6L12 7H8.5z',
} as const;

export type IconName = keyof typeof SHAPES;

/** A picture beside the words that say the same. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[name]} fill-rule="evenodd" />
    </svg>
  );
}
