import { existsSync } from 'node:fs';
import { type Checkpoint, createVerifier, type Verification } from '../../audit/verify.ts';
import { escapeUnprintable } from '../../printable.ts';
import { parseCheckpoint, readCheckpoints, writeCheckpoints } from '../checkpoints.ts';
import { type Command, type Terminal, text, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { trailOfServer, trailOfStore } from '../trail.ts';

export const auditVerify: Command = {
  summary: 'check that no entry of the trail was changed, moved, put in or taken out; exit code 1 when one was',
  options: {
    store: { type: 'string', value: 'STORE', help: 'look into sqlite:FILE or redis://… itself, instead of a service' },
    checkpoint: { type: 'string', value: 'ID:N:HASH', help: 'where a process stood: entry N had that hash' },
    checkpoints: { type: 'string', value: 'FILE', help: 'holds checkpoints, one a line' },
    'save-checkpoints': { type: 'string', value: 'FILE', help: 'write where every process stands, if all is well' },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    'Entries that were cut off at the end show only against a checkpoint that was kept elsewhere. Each process tells its',
    'own every hour, in a log record named rdcp.audit.checkpoint; --save-checkpoints F, and --checkpoints F the next',
    'time, does as well.',
  ],
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('audit verify takes no operands');
    const checkpoints = givenCheckpoints(values);
    const verifier = createVerifier({ checkpoints, now: terminal.now() });
    for await (const entry of trail(terminal, values)) verifier.see(entry);
    const found = verifier.finish();
    const whole = found.faults === 0 && found.cut.length === 0;
    const unchecked = uncheckedOf(found, { evidence: checkpoints.length > 0 });
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
    ...(one === undefined ? [] : [parseCheckpoint(one)]),
    ...(file === undefined || first ? [] : readCheckpoints(file)),
  ];
}

function tell(terminal: Terminal, { entries, heads, faults, first, cut, pruned }: Verification, whole: boolean): void {
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
}

/** What this run could not find, had somebody done it. */
function uncheckedOf({ unexplained }: Verification, { evidence }: { readonly evidence: boolean }): string[] {
  const lines = [
    evidence
      ? 'entries cut off, added or sealed anew at the end of a process, after its last checkpoint'
      : 'entries cut off, added or sealed anew at the end of a process, and processes of which nothing is left: ' +
        'checkpoints that were kept elsewhere show that (--checkpoints)',
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
