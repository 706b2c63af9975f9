import { parseKeysFile } from '../auth/keys-file.ts';
import type { ApiKeyRecord } from '../options.ts';
import { updateFile } from './private-file.ts';
import { readText } from './read-text.ts';

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file is wrong */
export function readKeys(file: string): ApiKeyRecord[] {
  return parseKeysFile(readText(file, '--file'), file);
}

/** Changes the records of a keys file. One that is not there is made. */
export function updateKeys(
  file: string,
  change: (records: readonly ApiKeyRecord[]) => readonly ApiKeyRecord[],
): Promise<void> {
  return updateFile(file, (before) => {
    // An empty file, as `mktemp` or `touch` make it, has no keys yet.
    const records = change(before === '' ? [] : parseKeysFile(before, file));
    const text = `${JSON.stringify({ keys: records }, undefined, 2)}\n`;
    // What the service would refuse is not written.
    parseKeysFile(text, file);
    return text;
  });
}
