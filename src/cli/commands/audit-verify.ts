import { existsSync } from 'node:fs';
import { type PublicKeys, parsePublicKeys } from '../../audit/signature.ts';
import { type Checkpoint, createVerifier, type Verification } from '../../audit/verify.ts';
import { escapeUnprintable } from '../../printable.ts';
import { parseTimestamp } from '../../protocol/time.ts';
import { parseCheckpoint, readCheckpoints, writeCheckpoints } from '../checkpoints.ts';
import { type Command, type Terminal, text, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { readText } from '../read-text.ts';
import { readRecords } from '../records.ts';
import { trailOfServer, trailOfStore } from '../trail.ts';

export const auditVerify: Command = {
  summary: 'check that no entry of the trail was changed, moved, put in or taken out; exit code 1 when one was',
  options: {
    store: { type: 'string', value: 'STORE', help: 'look into sqlite:FILE or redis://… itself, instead of a service' },
    checkpoint: { type: 'string', value: 'ID:N:HASH', help: 'where a process stood: entry N had that hash' },
    checkpoints: { type: 'string', value: 'FILE', help: 'holds checkpoints, one a line' },
    records: {
      type: 'string',
      value: 'FILE',
      help: 'exported log records of the trail, JSON lines (OTLP, or our own)',
    },
    service: { type: 'string', value: 'NAME', help: 'of the exported records, those of this service.name alone' },
    'public-key': {
      type: 'string',
      value: 'FILE',
      help: 'Ed25519 public keys (PEM) that every process must sign with',
    },
    'signed-since': {
      type: 'string',
      value: 'WHEN',
      help: 'entries before 2026-01-31T00:00:00.000Z need no signature',
    },
    'save-checkpoints': { type: 'string', value: 'FILE', help: 'write where every process stands, if all is well' },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    'Entries that were cut off at the end show only against what was kept elsewhere: checkpoints, which each process exports',
    'every hour in a log record named rdcp.audit.checkpoint (--save-checkpoints F, and --checkpoints F the next time, does as',
    'well), or exported records of the entries themselves (--records). See docs/audit.md.',
  ],
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('audit verify takes no operands');
    const file = text(values, 'records');
    const service = text(values, 'service');
    if (service !== undefined && file === undefined) throw new UsageError('--service needs --records');
    const records = file === undefined ? undefined : await readRecords(terminal, file, service);
    if (records !== undefined && records.checkpoints.length + records.waiting.size === 0) {
      const whose = service === undefined ? '' : ` of service ${service}`;
      terminal.note(`rdcp: --records: ${file} has no log record of the trail${whose}: nothing was compared`);
    }
    const checkpoints = [...givenCheckpoints(values), ...(records?.checkpoints ?? [])];
    const keys = givenKeys(values);
    const verifier = createVerifier({
      checkpoints,
      ...(records && { waiting: records.waiting }),
      keys,
      signedSince: givenInstant(values, 'signed-since'),
      now: terminal.now(),
    });
    for await (const entry of trail(terminal, values)) verifier.see(entry);
    const found = verifier.finish();
    const whole = found.faults === 0 && found.cut.length === 0 && found.lost.length === 0;
    const unchecked = uncheckedOf(found, { evidence: checkpoints.length > 0, signed: keys !== undefined });
    if (values.json === true) terminal.out(JSON.stringify({ whole, ...found, unchecked }, undefined, 2));
    else {
      tell(terminal, found, whole);
      if (whole) for (const line of unchecked) terminal.note(`Not checked: ${line}.`);
    }
    const saved = text(values, 'save-checkpoints');
    if (whole && saved !== undefined) writeCheckpoints(saved, found.heads);
    return whole ? 0 : 1;
  },
};

function trail(terminal: Terminal, values: Values) {
  const store = text(values, 'store');
  if (store === undefined) return trailOfServer(connect(terminal, values));
  if (text(values, 'url') !== undefined) throw new UsageError('--store and --url exclude each other');
  return trailOfStore(store);
}

function givenCheckpoints(values: Values): Checkpoint[] {
  const one = text(values, 'checkpoint');
  const file = text(values, 'checkpoints');
  // The first run of a job that saves and reads the same file finds none.
  const first = file !== undefined && file === text(values, 'save-checkpoints') && !existsSync(file);
  return [
    ...(one === undefined ? [] : [parseCheckpoint(one, '--checkpoint')]),
    ...(file === undefined || first ? [] : readCheckpoints(file)),
  ];
}

function givenKeys(values: Values): PublicKeys | undefined {
  const file = text(values, 'public-key');
  if (file === undefined) {
    if (text(values, 'signed-since') !== undefined) throw new UsageError('--signed-since needs --public-key');
    return undefined;
  }
  const keys = parsePublicKeys(readText(file, '--public-key'));
  if (keys === undefined) throw new UsageError(`--public-key: ${file} must hold Ed25519 public keys (PEM)`);
  return keys;
}

function givenInstant(values: Values, name: string): number | undefined {
  const value = text(values, name);
  const instant = value === undefined ? undefined : parseTimestamp(value);
  if (value !== undefined && instant === undefined) {
    throw new UsageError(`--${name} must be as 2026-01-31T00:00:00.000Z`);
  }
  return instant;
}

function tell(
  terminal: Terminal,
  { entries, heads, faults, first, cut, lost, pruned }: Verification,
  whole: boolean,
): void {
  const count = `${plural(entries, 'entry', 'entries')} of ${plural(heads.length, 'process', 'processes')}`;
  if (whole) {
    terminal.out(
      `The trail is whole: ${count}${pruned ? '; older ones were dropped when their retention ended' : ''}.`,
    );
    return;
  }
  terminal.out(`The trail is NOT whole: ${count}.`);
  if (first !== undefined) {
    const { id, timestamp, compliance } = first.entry;
    const where = `entry ${compliance.sequence} of process ${compliance.instanceId} (${id}, ${timestamp})`;
    terminal.out(escapeUnprintable(`First fault: ${where}: ${first.message}.`));
    if (faults > 1) terminal.out(`${faults} faults in all.`);
  }
  const newest = new Map(heads.map((head) => [head.instanceId, head.sequence]));
  for (const { instanceId, sequence } of cut) {
    const left = newest.get(instanceId);
    const line =
      left === undefined
        ? `Cut off: process ${instanceId} had written entry ${sequence}; nothing is left of it.`
        : left < sequence
          ? `Cut off: process ${instanceId} had written entry ${sequence}; its newest is entry ${left}.`
          : `Missing: entry ${sequence} of process ${instanceId}; retention did not drop it.`;
    terminal.out(escapeUnprintable(line));
  }
  for (const id of lost) {
    terminal.out(
      escapeUnprintable(`Missing: entry ${id}, whose log record was exported while it waited for the store.`),
    );
  }
}

/** What this run could not find, had somebody done it. */
function uncheckedOf(
  { unexplained }: Verification,
  { evidence, signed }: { readonly evidence: boolean; readonly signed: boolean },
): string[] {
  const forged = signed ? '' : ', added or sealed anew';
  const lines = [
    evidence
      ? `entries cut off${forged} at the end of a process, after its last checkpoint or record`
      : `entries cut off${forged} at the end of a process, and processes of which nothing is left: ` +
        'only checkpoints or records that were kept elsewhere show that (--checkpoints, --records)',
  ];
  if (unexplained > 0) {
    const chains = plural(unexplained, 'process', 'processes');
    lines.push(`where ${chains} began: prunes of an earlier version do not name what they drop`);
  }
  return lines;
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
