import { parseKeysFile } from '../auth/keys-file.ts';
import type { ApiKeyRecord } from '../options.ts';
import { updateFile } from './private-file.ts';
import { readText } from './read-text.ts';

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file is invalid */
export function readKeys(file: string): ApiKeyRecord[] {
  return parseKeysFile(readText(file, '--file'), file);
}

/** Changes the records of a keys file, and creates the file if it does not exist. */
export function updateKeys(
  file: string,
  change: (records: readonly ApiKeyRecord[]) => readonly ApiKeyRecord[],
): Promise<void> {
  return updateFile(file, (before) => {
    // `mktemp` and `touch` create an empty file: no keys yet.
    const records = change(before === '' ? [] : parseKeysFile(before, file));
    const text = `${JSON.stringify({ keys: records }, undefined, 2)}\n`;
    // Throws before the file is written if the service would reject it.
    parseKeysFile(text, file);
    return text;
  });
}
