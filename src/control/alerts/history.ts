import type { AuditTrail } from '../../trail/types.ts';
import type { AuditEntry, AuditIdentity } from '../../wire/audit-messages.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';

/** Pages of the trail that one question may read, and entries in each. A store may end a page early. */
const MAX_PAGES = 50;
const PAGE = 200;

export interface LastSwitchOptions {
  readonly trail: Pick<AuditTrail, 'query'>;
  /** Who switches for the rule. */
  readonly identity: Required<Pick<AuditIdentity, 'userId' | 'clientId'>>;
  /** The group of alerts: its request ids begin with it. */
  readonly groupId: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/**
 * What a group of alerts switched last, not earlier than `since`, as the audit trail has it: for all processes that share the
 * store, and after a restart.
 * @throws {RdcpError} `RDCP_UNAVAILABLE` if more of the trail would have to be read than one question may
 */
export async function lastSwitch({
  trail,
  identity: { userId, clientId: client },
  groupId,
  since,
}: LastSwitchOptions): Promise<AuditEntry | undefined> {
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const filter = { limit: PAGE, client, outcome: 'success', since } as const;
    const { entries, next } = await trail.query({ ...filter, ...(cursor !== undefined && { cursor }) });
    const last = entries.find(
      ({ requestId, identity }) => requestId?.split('.')[0] === groupId && identity.userId === userId,
    );
    if (last !== undefined || next === undefined) return last;
    cursor = next;
  }
  throw CHANGE_REFUSALS.longTrail();
}
