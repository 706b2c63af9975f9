import { Badge } from '../parts/badge.tsx';

interface OnBadgeProps {
  readonly enabled: boolean;
  /** Whether it is otherwise for some tenants. */
  readonly differs: boolean;
}

/** Whether a category is on. */
export function OnBadge({ enabled, differs }: OnBadgeProps) {
  if (!enabled && differs) return <Badge tone="one-tenant">Partly</Badge>;
  return <Badge tone={enabled ? 'on' : 'off'}>{enabled ? 'On' : 'Off'}</Badge>;
}
