import type { ViewProps } from './view.ts';

export function AuditView(_: ViewProps) {
  return <p class="muted">Not built yet.</p>;
}
