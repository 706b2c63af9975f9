import type { ViewProps } from './view.ts';

export function TailView(_: ViewProps) {
  return <p class="muted">Not built yet.</p>;
}
