import { basename } from 'node:path';
import { z } from 'zod';
import { apiKeyRecordSchema } from '../options/config.ts';
import { faultPlace } from '../options/json-fault.ts';
import type { ApiKeyRecord } from '../options/options.ts';
import type { Condition } from '../otel/report/conditions.ts';
import { invalidSetting, isRdcpError } from '../wire/errors.ts';
import { firstIssue } from '../wire/issues.ts';
import { type KeyRules, type KeySet, keySet } from './api-keys.ts';
import { type WatchedFile, watchFile } from './watched-file.ts';

const keysFileSchema = z.strictObject({ keys: z.array(apiKeyRecordSchema) });

export interface KeysFileOptions extends KeyRules {
  readonly condition?: Condition;
}

/** @param name of the file @throws {RdcpError} `RDCP_CONFIG_INVALID` in one line with the file, the field and the problem */
export function parseKeysFile(text: string, name: string): ApiKeyRecord[] {
  const result = keysFileSchema.safeParse(parseJson(text, name));
  if (!result.success) {
    const { field, message } = firstIssue(result.error);
    throw invalid(name, `${field === '' ? 'the file' : field} ${message}`, field);
  }
  return result.data.keys;
}

/** Changes apply within a second. @throws {RdcpError} `RDCP_CONFIG_INVALID` if the file is wrong at the start */
export function openKeysFile(path: string, { condition, ...rules }: KeysFileOptions = {}): WatchedFile<KeySet> {
  const name = basename(path);
  return watchFile(path, { name: `keys file ${name}`, load: (text) => load(text, name, rules), condition });
}

function load(text: string, name: string, rules: KeyRules): KeySet {
  const records = parseKeysFile(text, name);
  try {
    return keySet(records, 'keys', rules);
  } catch (error) {
    throw isRdcpError(error) ? invalid(name, error.message, String(error.details?.field)) : error;
  }
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw invalid(name, `the file is not JSON${faultPlace(error)}`, '');
  }
}

function invalid(name: string, problem: string, field: string) {
  return invalidSetting(field, `keys file ${name}: ${problem}`);
}
