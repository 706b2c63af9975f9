import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

export type Tone = 'on' | 'off' | 'good' | 'warning' | 'error' | 'one-tenant' | 'neutral';

export function Badge({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      {tone !== 'neutral' && <Icon name={tone} />}
      {children}
    </span>
  );
}
