import { Badge } from '../parts/badge.tsx';

/** Whether a category is on. */
export function OnBadge({ enabled }: { readonly enabled: boolean }) {
  return <Badge tone={enabled ? 'on' : 'off'}>{enabled ? 'On' : 'Off'}</Badge>;
}
