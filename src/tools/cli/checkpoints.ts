import type { Checkpoint } from '../../trail/verify.ts';
import { parseTimestamp } from '../../wire/time.ts';
import { UsageError } from './command.ts';
import { updateFile } from './private-file.ts';
import { readText } from './read-text.ts';

const FORM = /^([a-zA-Z0-9._-]{1,255}):([1-9]\d{0,14}):([0-9a-f]{64})(?::(\S+))?$/;

/** @param place the option, and of a file the line */
export function parseCheckpoint(text: string, place: string): Checkpoint {
  const [, instanceId, sequence, hash, retainUntil] = FORM.exec(text) ?? [];
  const misspelt = retainUntil !== undefined && parseTimestamp(retainUntil) === undefined;
  if (instanceId === undefined || hash === undefined || misspelt) {
    throw new UsageError(`${place} must be INSTANCE:SEQUENCE:HASH or INSTANCE:SEQUENCE:HASH:RETAIN_UNTIL`);
  }
  return { instanceId, sequence: Number(sequence), hash, ...(retainUntil !== undefined && { retainUntil }) };
}

export function readCheckpoints(file: string): Checkpoint[] {
  return readText(file, '--checkpoints')
    .split('\n')
    .map((line, index) => ({ text: line.trim(), place: `--checkpoints: line ${index + 1} of ${file}` }))
    .filter(({ text }) => text !== '')
    .map(({ text, place }) => parseCheckpoint(text, place));
}

export function writeCheckpoints(file: string, checkpoints: readonly Checkpoint[]): Promise<void> {
  return updateFile(file, () => checkpoints.map((checkpoint) => `${formatCheckpoint(checkpoint)}\n`).join(''));
}

function formatCheckpoint({ instanceId, sequence, hash, retainUntil }: Checkpoint): string {
  return [instanceId, sequence, hash, ...(retainUntil === undefined ? [] : [retainUntil])].join(':');
}
