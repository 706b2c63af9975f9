import type { AuditedTail } from '../audit-messages.ts';

type Reason = Extract<AuditedTail, { state: 'end' }>['reason'];

const ENDS: Readonly<Record<Reason, string>> = {
  closed: 'the reader left',
  expired: 'the time is over',
  budget: 'all requested lines have arrived',
  past: 'all recorded lines have arrived',
  revoked: 'the credential has expired or was revoked',
  shutdown: 'the service is shutting down',
  replaced: 'the same client began another tail',
};

/** How far back recorded lines reach. @param of whose they are */
export function reachText(reachesBack: string, of = ''): string {
  return `What is kept${of && ` of ${of}`} reaches ${reachesBack} back`;
}

/** Why a tail ended. A newer server may send a reason that this version does not know. */
export function tailEndText(reason: string): string {
  return Object.hasOwn(ENDS, reason) ? ENDS[reason as Reason] : reason;
}
