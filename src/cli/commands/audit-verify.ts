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
    const verifier = createVerifier({ checkpoints: givenCheckpoints(values) });
    for await (const entry of trail(terminal, values)) verifier.see(entry);
    const found = verifier.finish();
    const whole = found.faults === 0 && found.cut.length === 0;
    if (values.json === true) terminal.out(JSON.stringify({ whole, ...found }, undefined, 2));
    else tell(terminal, found, whole);
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
  for (const { instanceId, sequence } of cut) {
    const head = heads.find((each) => each.instanceId === instanceId);
    const left = head === undefined ? 'nothing is left of it' : `its newest is entry ${head.sequence}`;
    terminal.out(`Cut off: process ${instanceId} had written entry ${sequence}; ${left}.`);
  }
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
