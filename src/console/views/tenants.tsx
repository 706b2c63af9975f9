import type { ViewProps } from './view.ts';

export function TenantsView(_: ViewProps) {
  return <p class="muted">Not built yet.</p>;
}
