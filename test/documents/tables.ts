import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/built.ts';

/** The cells of the rows of the first table with this header, in a document, after a line. */
export function tableOf(document: string, header: string, after?: string): string[][] {
  const lines = readFileSync(join(ROOT, document), 'utf8').split('\n');
  const from = after === undefined ? 0 : lines.indexOf(after);
  assert.ok(from >= 0, `${document} has the line ${after}`);
  const at = lines.findIndex((line, index) => index >= from && line.startsWith(header));
  assert.ok(at >= 0, `${document} has a table with the header ${header}`);
  const rows = lines.slice(at + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end < 0 ? rows.length : end).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** What stands in a cell as code. */
export const codeIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
