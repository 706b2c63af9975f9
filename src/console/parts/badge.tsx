import type { ComponentChildren } from 'preact';

export type Tone = 'on' | 'off' | 'good' | 'warning' | 'error' | 'one-tenant' | 'neutral';

export function Badge({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
