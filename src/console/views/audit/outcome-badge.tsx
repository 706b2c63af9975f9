import type { AuditOutcome } from '../../../protocol/audit-messages.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';

const TONES: Readonly<Record<AuditOutcome, Tone>> = {
  success: 'good',
  partial: 'warning',
  failed: 'error',
  denied: 'error',
};

export function OutcomeBadge({ outcome }: { readonly outcome: AuditOutcome }) {
  return <Badge tone={TONES[outcome] ?? 'neutral'}>{outcome}</Badge>;
}
