import type { ViewProps } from './view.ts';

export function FleetView(_: ViewProps) {
  return <p class="muted">Not built yet.</p>;
}
