import type { ComponentChildren } from 'preact';

/** Names and their values; what has no value is left out. */
export function Fields({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="fields">
      {Object.entries(of).map(
        ([name, value]) =>
          value !== undefined &&
          value !== false && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
