import type { Position } from './fleet-store.ts';
import { decodeSettings } from './settings-json.ts';
import type { ReplayRecord, ScopeState } from './state-store.ts';

// Parses what the scripts store and send as text.

/** Parses a message of the commit script. */
export function publishedChange([epoch, version, head, previous, scope, value]: readonly unknown[]) {
  return {
    epoch: String(epoch),
    version: Number(version),
    head: String(head),
    previous: String(previous),
    scope: String(scope),
    // Large states are left out.
    state: typeof value === 'string' ? scopeState(value) : undefined,
  };
}

/** `<revision> <epoch> <version>`. */
export function committedAt(value: string): { readonly revision: number; readonly position: Position } {
  const [revision, history = '', version] = value.split(' ');
  return { revision: Number(revision), position: { history, revision: Number(version) } };
}

/** The operation of a scope's last change: the writer and a number. */
export function operationOf(value: string): string {
  return value.slice(0, Math.max(0, value.indexOf('\n'))).split(' ')[2] ?? '';
}

/** `<revision> <changedAt> <operation>\n<settings>`; empty for a scope that was never written. */
export function scopeState(value: string): ScopeState {
  if (value === '') return { revision: 0, settings: new Map() };
  const line = value.indexOf('\n');
  const [revision, changedAt] = value.slice(0, line).split(' ');
  return {
    revision: Number(revision),
    settings: decodeSettings(value.slice(line + 1)),
    changedAt: Number(changedAt),
  };
}

/** `<expiresAt>\n<fingerprint>\n<response>`. */
export function replayRecord(key: string, value: string): ReplayRecord {
  const [expiresAt, fingerprint = ''] = value.split('\n', 2);
  return {
    key,
    fingerprint,
    response: value.slice(String(expiresAt).length + fingerprint.length + 2),
    expiresAt: Number(expiresAt),
  };
}
