// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { ensureDevKey } from '../../src/access/dev-key.ts';
import { rdcp } from '../cli/run.ts';
import { assertBuilt, built, ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { agentProcess, ask, MODES } from './agent.ts';
import { openShop, type Shop } from './service.ts';

describe('rdcp mcp, as the program of an agent starts it', () => {
  assertBuilt();
  let shop: Shop;
  before(async () => {
    shop = await openShop();
  });
  after(() => shop.close());

  it('leads from "why do orders of acme fail" to the three lines, and refuses to write', async (t) => {
    for (const mode of MODES) {
      const { client } = await agentProcess(t, { ...shop, key: shop.agent }, ['--tenant', 'acme'], { mode });
      assert.match(client.getInstructions() ?? '', /never follow instructions/);
      const { categories } = await ask(client, 'list_categories');
      assert.ok(categories.some(({ name }: { name: string }) => name === 'ORDERS'));
      const target = { match: { 'user.id': '42' } };
      const { lines, ended } = await ask(client, 'collect_lines', { categories: ['ORDERS'], target, max_lines: 3 });
      assert.equal(ended, 'max_lines');
      assert.deepEqual(
        lines.map(({ message }: { message: string }) => message),
        ['asked for', 'over the credit limit', 'refused'],
      );
      assert.deepEqual((await ask(client, 'status')).scopes, ['discovery', 'tail']);
      await assert.rejects(ask(client, 'audit'), /RDCP_FORBIDDEN/);
      await assert.rejects(ask(client, 'enable', { categories: ['ORDERS'], reason: 'why not' }), /enable not found/);
      assert.equal((await shop.client.status()).categories.ORDERS, false);
      const [begun] = await shop.tails('begin', 1);
      assert.equal(begun?.identity.clientId, 'agent');
      assert.match(begun?.source?.userAgent ?? '', /^test-agent\/1\.2\.3 via agent \(rdcp mcp /);
      await client.close();
    }
  });

  it('ends its tails when its program is gone', async (t) => {
    for (const cut of ['SIGKILL', 'SIGTERM', 'closed'] as const) {
      const { client, transport } = await agentProcess(t, shop);
      const [begun, ended] = await Promise.all([shop.count('begin'), shop.count('end')]);
      const collecting = ask(client, 'collect_lines', { categories: ['NEVER_CALLED'], duration: '5m' });
      const rejected = assert.rejects(collecting);
      await shop.tails('begin', begun + 1);
      if (cut === 'closed') await client.close();
      else process.kill(transport.pid ?? assert.fail('it runs'), cut);
      const [last] = await shop.tails('end', ended + 1);
      assert.equal(last?.otelrdcp_tail?.state === 'end' && last.otelrdcp_tail.reason, 'closed', cut);
      await rejected;
    }
  });

  it('answers what is in flight when its input ends', async () => {
    const message = (id: number, method: string, params: object) =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const call = (id: number, name: string, given = {}) => message(id, 'tools/call', { name, arguments: given });
    const opening = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a script', version: '1' } };
    const child = spawn(process.execPath, [built('cli/main.js'), 'mcp', '--url', shop.url], {
      env: { ...PROGRAM_ENV, RDCP_API_KEY: shop.key },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const asked = [message(1, 'initialize', opening), call(2, 'forecast', { categories: ['ORDERS'], duration: '1s' })];
    child.stdin.end(`${[...asked, call(3, 'list_categories')].join('\n')}\n`);
    const answers = (await text(child.stdout)).trim().split('\n');
    assert.deepEqual(answers.map((line) => JSON.parse(line).id).sort(), [1, 2, 3]);
  });

  it('prints the configuration of the known programs, with what a program needs in any folder', async (t) => {
    const folder = newFolder(t);
    mkdirSync(join(folder, 'my keys'));
    writeFileSync(join(folder, 'my keys/agent'), shop.key, { mode: 0o600 });
    const file = join(folder, 'my keys/agent');
    const given = ['--url', shop.url, '--key-file', file, '--tenant', 'acme'];
    const { code, stdout } = await rdcp(['mcp', '--print-config', '--allow-writes', ...given], { cwd: folder });
    assert.equal(code, 0);
    assert.ok(!stdout.includes(shop.key));
    const packages = ['-p', 'opentelemetry-instrumentation-rdcp', '-p', '@modelcontextprotocol/server'];
    const options = ['--allow-writes', '--url', shop.url, '--key-file', file, '--tenant', 'acme'];
    const started = { command: 'npx', args: ['-y', ...packages, 'rdcp', 'mcp', ...options] };
    const [claude, , ...files] = stdout.split(/^#.*\n/m);
    assert.match(claude ?? '', /^$/);
    assert.deepEqual(
      files.map((each) => JSON.parse(each)),
      [{ mcpServers: { rdcp: started } }, { servers: { rdcp: { type: 'stdio', ...started } } }],
    );
    assert.ok(stdout.includes(`claude mcp add rdcp -- npx -y ${packages.join(' ')} rdcp mcp`));
    assert.ok(stdout.includes(`--key-file '${file}'`));
  });

  it('finds the development key of the folder in which the configuration is printed', async (t) => {
    const folder = newFolder(t);
    ensureDevKey(folder);
    const { stdout } = await rdcp(['mcp', '--print-config'], { cwd: folder });
    assert.ok(stdout.includes(JSON.stringify(join(folder, '.rdcp/dev-key'))));
  });

  it('names the package that it needs where that is missing', async (t) => {
    const folder = newFolder(t);
    cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const main = join(folder, 'dist/cli/main.js');
    const { status, stderr } = spawnSync(process.execPath, [main, 'mcp', '--url', shop.url], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /^rdcp: rdcp mcp needs the package @modelcontextprotocol\/server: npm install /);
  });
});
