import type { ComponentChildren } from 'preact';
import { LongText } from './long-text.tsx';
import { Text } from './text.tsx';

/** Names and their values; what has no value is left out. A text is one from elsewhere. */
export function Fields({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(
        ([name, value]) =>
          value !== undefined &&
          value !== false && (
            <div key={name}>
              <dt>
                <Text value={name} />
              </dt>
              <dd>{typeof value === 'string' ? <LongText value={value} /> : value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
