import { type AuditEntry, actionOf } from '../../../../wire/audit-messages.ts';
import type { ChangeRecord } from '../../../../wire/messages.ts';
import { madeText, whoText } from '../../../../wire/words/change.ts';
import { settingText } from '../../../../wire/words/level.ts';

/** The action in a word: what writes nothing until work fails records. */
export function actionText(entry: AuditEntry): string {
  return entry.action === 'enable' && entry.otelrdcp_activation?.when ? 'record' : actionOf(entry);
}

/** Who did it: the user, else the client, else the server itself. */
export function whoOf({ identity, action }: Pick<AuditEntry, 'identity' | 'action'>): string {
  const { userId, clientId } = identity;
  if (userId !== undefined && clientId !== undefined && userId !== clientId) return `${userId} (${clientId})`;
  return whoText(identity) ?? (ACTIONS_OF_SERVER.includes(action) ? 'the server' : 'unknown');
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
  const [only = '', ...others] = new Set(changes.map(changeText));
  if (others.length > 0) return `${changes.length} changes`;
  return changes.length > 1 ? `${changes.length} × ${only}` : only;
}

function changeText(change: ChangeRecord): string {
  const [before, after] = [settingText({ enabled: change.previousState }), madeText(change)];
  return before === after ? `stays ${after}` : `${before} → ${after}`;
}
