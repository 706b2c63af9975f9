import { existsSync } from 'node:fs';
import { type PublicKeys, parsePublicKeys } from '../../../trail/signature.ts';
import { type Checkpoint, createVerifier, type Verification } from '../../../trail/verify.ts';
import { parseTimestamp } from '../../../wire/time.ts';
import { counted, processesText } from '../../../wire/words/count.ts';
import { type Command, type Terminal, text, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present, readText } from '../options.ts';
import {
  parseCheckpoint,
  readCheckpoints,
  readRecords,
  trailOfServer,
  trailOfStore,
  writeCheckpoints,
} from '../trail.ts';

export const auditVerify: Command = {
  summary: 'detect entries that were changed, moved, added or removed; exit code 1 if any were',
  options: {
    store: {
      value: 'STORE',
      help: 'read the trail from sqlite:FILE, redis://HOST or postgres://HOST instead of a service',
    },
    checkpoint: { value: 'ID:N:HASH', help: 'entry N of process ID must exist with this hash' },
    checkpoints: { value: 'FILE', help: 'file with checkpoints, one per line' },
    records: { value: 'FILE', help: 'exported log records of the trail, as JSON lines (OTLP or single records)' },
    service: { value: 'NAME', help: 'use only exported records with this service.name' },
    'public-key': { value: 'FILE', help: 'Ed25519 public keys (PEM) that every process must sign with' },
    'signed-since': { value: 'WHEN', help: 'entries before 2026-01-31T00:00:00.000Z need no signature' },
    'save-checkpoints': { value: 'FILE', help: 'write the newest checkpoint of each process, if the trail is whole' },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    'The trail alone does not reveal that its newest entries were deleted. Compare it with evidence that is stored elsewhere:',
    '  --checkpoints  saved by an earlier run (--save-checkpoints), or from the log records rdcp.audit.checkpoint',
    '  --records      exported log records of the entries and checkpoints',
    'docs/audit.md in the repository of the package says what each of them detects.',
  ],
  examples: ['rdcp audit verify', 'rdcp audit verify --store sqlite:shop.sqlite --checkpoints F --save-checkpoints F'],
  run: async (terminal, values) => {
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
    const unchecked = uncheckedOf({ evidence: checkpoints.length > 0, signed: keys !== undefined });
    present(terminal, values, { whole, ...found, unchecked }, () => {
      showVerification(terminal, found, whole);
      if (whole) terminal.note(`Not checked: ${unchecked[0]}.`);
    });
    const saved = text(values, 'save-checkpoints');
    if (whole && saved !== undefined) await writeCheckpoints(saved, found.heads);
    return whole ? 0 : 1;
  },
};

function trail(terminal: Terminal, values: Values) {
  const store = text(values, 'store');
  if (store === undefined) return trailOfServer(connect(terminal, values));
  if (text(values, 'url') !== undefined) throw new UsageError('--store and --url cannot be combined');
  return trailOfStore(store);
}

function givenCheckpoints(values: Values): Checkpoint[] {
  const one = text(values, 'checkpoint');
  const file = text(values, 'checkpoints');
  // A job that saves and reads the same file has no file on its first run.
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
    throw new UsageError(`--${name} must be a time such as 2026-01-31T00:00:00.000Z`);
  }
  return instant;
}

function showVerification(terminal: Terminal, found: Verification, whole: boolean): void {
  const { entries, heads, faults, first, cut, lost, pruned } = found;
  const count = `${counted(entries, 'entry', 'entries')} of ${processesText(heads.length)}`;
  const dropped = pruned ? '; older entries were dropped when their retention ended' : '';
  terminal.say(whole ? `The trail is whole: ${count}${dropped}.` : `The trail is NOT whole: ${count}.`);
  if (first !== undefined) {
    const { id, timestamp, compliance } = first.entry;
    const where = `entry ${compliance.sequence} of process ${compliance.instanceId} (${id}, ${timestamp})`;
    terminal.say(`First fault: ${where}: ${first.message}.`);
    if (faults > 1) terminal.say(`${faults} faults in total.`);
  }
  for (const { instanceId, sequence } of cut) {
    const left = heads.find((head) => head.instanceId === instanceId)?.sequence;
    const had = `it had written up to entry ${sequence}`;
    if (left === undefined) terminal.say(`Deleted: all entries of process ${instanceId}; ${had}.`);
    else if (left < sequence) terminal.say(`Deleted: entries of process ${instanceId} after entry ${left}; ${had}.`);
    else terminal.say(`Missing: entry ${sequence} of process ${instanceId}; retention did not drop it.`);
  }
  for (const id of lost) terminal.say(`Missing: entry ${id}; its log record was exported before the entry was stored.`);
}

/** Manipulations that this run cannot detect. */
function uncheckedOf({ evidence, signed }: { readonly evidence: boolean; readonly signed: boolean }): string[] {
  const atTheEnd = `entries ${signed ? 'deleted' : 'deleted, added or rewritten'} at the end of a process's chain`;
  return [
    evidence
      ? `${atTheEnd}, after its last checkpoint or record`
      : `${atTheEnd}, and processes whose entries were all deleted: ` +
        'this needs checkpoints or records that are stored elsewhere (--checkpoints, --records)',
  ];
}
