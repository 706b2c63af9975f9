import type { AuditIdentity } from '../audit-messages.ts';
import { EVERYBODY } from '../constants.ts';
import type { ChangeRecord, ControlResponse, FleetSummary } from '../messages.ts';
import { nameSome } from '../printable.ts';
import type { Timestamp } from '../time.ts';
import { processesText } from './count.ts';
import { settingText } from './level.ts';
import { clockTime } from './time.ts';

// Changes, and the answer to one, in words: for the command, the page, chats and the answer itself.

/** Who did something: the user, else the client. */
export function whoText({ userId, clientId }: Pick<AuditIdentity, 'userId' | 'clientId'>): string | undefined {
  return userId ?? clientId;
}

/** The same with the tenant that it was for: `alice (acme)`, and `-` for an unknown person. */
export function whoOf(identity: Parameters<typeof whoText>[0], tenant: string | undefined): string {
  return `${whoText(identity) ?? '-'}${tenant === undefined ? '' : ` (${tenant})`}`;
}

/** What a change made of a category: `on`, `quiet below warn`. */
export function madeText({ newState, otelrdcp_level: level }: ChangeRecord): string {
  return settingText({ enabled: newState, level });
}

/** Changes with one text each, those of the same text together: `CACHE, DATABASE on for 5m`, `HTTP off`. */
export function byText(
  changes: readonly ChangeRecord[],
  textOf: (change: ChangeRecord) => string,
  most?: number,
): string[] {
  return [...Map.groupBy(changes, textOf)].map(([text, same]) => {
    const names = same.map(({ category }) => category);
    return `${nameSome(names, most === undefined ? {} : { most })} ${text}`;
  });
}

/** Why a temporary control or an activation ended by itself. */
export const ENDED = { time: 'the time is over', budget: 'the budget is used up' } as const;

/** The tenants that a change is for, where it was asked for one. `undefined` for everybody. */
export function tenantsText({ tenant }: Pick<ControlResponse, 'tenant'>): string | undefined {
  if (tenant === undefined || tenant.id === EVERYBODY) return undefined;
  if (tenant.scope === 'tenant-isolated') return `for tenant ${tenant.id} alone`;
  return `for everybody, not for tenant ${tenant.id} alone: this service has one state for all tenants`;
}

/** A tenant's permanent off outlasts a later change for everybody, which is rarely meant at the end of an incident. */
export function staysOff({ action, tenant, changes }: Pick<ControlResponse, 'action' | 'tenant' | 'changes'>) {
  const off = changes.filter(({ newState, temporary }) => !newState && !temporary).map(({ category }) => category);
  if (action === 'reset' || action === 'status' || tenant?.scope !== 'tenant-isolated' || off.length === 0)
    return undefined;
  const stays = `${nameSome(off)} ${off.length === 1 ? 'stays' : 'stay'} off for ${tenant.id}`;
  return { categories: off, text: `${stays} when switched on for everybody, until a reset removes the setting` };
}

/** Where the store is not shared. */
export const NOT_SHARED =
  'in this process alone: other processes of the service, if there are any, do not share its store';

/** How far a change has come: `applied by 2 of 3 processes; still pending: shop-1:42`. */
export function appliedText(
  { applied, instances }: Pick<FleetSummary, 'applied' | 'instances'>,
  pending: readonly string[] = [],
): string {
  const missing = pending.length === 0 ? '' : `; still pending: ${nameSome(pending)}`;
  return `applied by ${applied} of ${processesText(instances)}${missing}`;
}

/** A process that neither answers nor has shut down. */
export function silentText(name: string, lastSeenAt: Timestamp, clock = (at: Timestamp) => clockTime(at)): string {
  return `${name} (not heard of since ${clock(lastSeenAt)})`;
}
