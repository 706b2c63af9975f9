import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { serve } from './handler.ts';
import { KEYS } from './reference-credentials.ts';
import { referenceServer } from './reference-server.ts';

test('the packed tool is installed with its command and nothing else, and judges a server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-conformance-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const npm = (cwd: string, ...args: string[]) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: 'pipe' });
  npm(join(import.meta.dirname, '..'), 'run', 'build');
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [packed] = JSON.parse(npm(join(import.meta.dirname, '..'), ...pack));
  const names: readonly string[] = packed.files.map(({ path }: { path: string }) => path);
  assert.deepEqual(
    names.filter((name) => !/^(?:dist\/.*\.js|bin\.js|package\.json|README\.md|LICENSE)$/.test(name)),
    [],
  );
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename));
  const served = await serve(referenceServer());
  t.after(() => served.close());
  const command = join(folder, 'node_modules/.bin/rdcp-conformance');
  const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
  const env = { ...process.env, RDCP_API_KEY: KEYS.main };
  execFile(command, ['--url', served.url, '--only', 'L1-WELL'], { env }, (error, stdout, stderr) =>
    resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
  );
  const { code, stdout, stderr } = await promise;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /level 1\s+18 passed, 0 failed/);
});
