import { z } from 'zod';
import type { Position, ReplayRecord, ScopeState } from '../state-store.ts';
import type { StoredValues } from '../stored-values.ts';

// Splits what the scripts store and send as text.

const whole = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
/** Epoch, version, head, the head before, scope, and the scope's value, which is left out where it is large. */
const change = z.tuple([z.string(), whole, z.string(), z.string(), z.string(), z.string().optional()]);

/** Decodes a message of the commit script; `undefined` for anything else. */
export function publishedChange(stored: StoredValues, values: readonly unknown[]) {
  const [history, version, head, previous, scope, value] = change.safeParse(values).data ?? [];
  if (history === undefined || version === undefined || head === undefined || scope === undefined) {
    stored.malformed.call('message');
    return undefined;
  }
  return {
    history,
    version,
    head,
    previous,
    scope,
    state: value === undefined ? undefined : scopeState(stored, value),
  };
}

/** `<revision> <epoch> <version>`. */
export function committedAt(value: string): { readonly revision: number; readonly position: Position } {
  const [, revision, history = '', version] = /^(\d{1,15}) (\S+) (\d{1,15})$/.exec(value) ?? [];
  if (revision === undefined) throw new Error('Redis holds a malformed outcome of this commit');
  return { revision: Number(revision), position: { history, revision: Number(version) } };
}

/** `<revision> <changedAt> <operation>\n<settings>`; empty for a scope that was never written. */
export function scopeState(stored: StoredValues, value: string): ScopeState {
  if (value === '') return { revision: 0, settings: new Map() };
  const line = value.indexOf('\n');
  const [, changedAt = Number.NaN] = value.slice(0, Math.max(0, line)).split(' ');
  const revision = /^\d{1,15}(?!\d)/.exec(value)?.[0] ?? Number.NaN;
  return stored.scope(Number(revision), Number(changedAt), value.slice(line + 1));
}

/** `<expiresAt>\n<fingerprint>\n<response>`. */
export function replayRecord(stored: StoredValues, key: string, value: string): ReplayRecord | undefined {
  const [, expiresAt, fingerprint, response] = /^(-?\d+(?:\.\d+)?)\n([^\n]*)\n(.*)$/s.exec(value) ?? [];
  return stored.replay({ key, fingerprint, response, expiresAt: Number(expiresAt) });
}
