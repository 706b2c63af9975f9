import type { ViewProps } from './view.ts';

export function HealthView(_: ViewProps) {
  return <p class="muted">Not built yet.</p>;
}
