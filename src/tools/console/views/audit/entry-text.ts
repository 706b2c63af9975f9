import type { AuditEntry } from '../../../../wire/audit-messages.ts';
import type { ChangeRecord } from '../../../../wire/messages.ts';
import { settingText } from '../../../../wire/words/level.ts';

/** Who did it: the user, else the client, else the server itself. */
export function whoOf({ identity, action }: Pick<AuditEntry, 'identity' | 'action'>): string {
  const { userId, clientId } = identity;
  if (userId !== undefined && clientId !== undefined && userId !== clientId) return `${userId} (${clientId})`;
  return userId ?? clientId ?? (ACTIONS_OF_SERVER.includes(action) ? 'the server' : 'unknown');
}

const ACTIONS_OF_SERVER: readonly AuditEntry['action'][] = [
  'expire',
  'reconcile',
  'prune',
  'state_reset',
  'credentials.reload',
];

/** The changes of an entry in a few words; empty without changes. */
export function changesText(changes: readonly ChangeRecord[]): string {
  const texts = new Set(changes.map(changeText));
  const [only = ''] = texts;
  if (texts.size > 1) return `${changes.length} changes`;
  return changes.length > 1 ? `${changes.length} × ${only}` : only;
}

function changeText({ previousState, newState, otelrdcp_level: level }: ChangeRecord): string {
  const [before, after] = [settingText({ enabled: previousState }), settingText({ enabled: newState, level })];
  return before === after ? `stays ${after}` : `${before} → ${after}`;
}
