import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { rdcpProcess } from './run.ts';
import { service } from './service.ts';

test('times are those of this machine, marked by their offset, and JSON keeps UTC', async (t) => {
  const entry = {
    timestamp: '2026-01-31T23:30:00.000Z',
    action: 'enable',
    outcome: 'success',
    categories: [],
    identity: {},
  };
  const { url } = await service(t, { entries: [entry] });
  const cwd = newFolder(t);
  for (const [TZ, shown] of [
    ['UTC', '2026-01-31T23:30:00.000Z'],
    ['Asia/Kolkata', '2026-02-01T05:00:00.000+05:30'],
    ['America/St_Johns', '2026-01-31T20:00:00.000-03:30'],
  ] as const) {
    const run = (...args: string[]) => rdcpProcess(['audit', '--url', url, ...args], { cwd, env: { TZ } });
    assert.ok((await run()).stdout.includes(`\n${shown} `), TZ);
    assert.ok((await run('-o', 'json')).stdout.includes(entry.timestamp), TZ);
  }
});
