import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { hashApiKey } from '../../src/auth/api-key.ts';
import { run } from '../safety/program.ts';
import { assertBuilt, ROOT } from '../support/built.ts';

const KEY = 'a-key-of-this-test-alone-and-no-other';

/** The code that follows a piece of text in a document. */
function codeAfter(document: string, text: string): string {
  const all = readFileSync(join(ROOT, document), 'utf8');
  const at = all.indexOf(text);
  assert.ok(at >= 0, `${document} has: ${text}`);
  const [, code] = /```ts\n(.*?)```/s.exec(all.slice(at)) ?? [];
  assert.ok(code, `code follows: ${text}`);
  return code;
}

const MOUNTED = `
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';

const expressApp = express();
const fastify = Fastify();
const koaApp = new Koa();
const app: http.RequestListener = (_req, res) => void res.end('app');
${codeAfter('docs/services.md', '**Mounted in a server you have**').replace('\nhttp.createServer(', '\nconst server = http.createServer(')}
expressApp.use((_req, res) => void res.send('app'));
fastify.get('/', async () => 'app');
koaApp.use((ctx) => void (ctx.body = 'app'));

const addressOf = (listening: http.Server) => 'http://127.0.0.1:' + (listening.address() as AddressInfo).port;
const listening = async (it: http.Server) => {
  await new Promise<void>((resolve) => it.listen(0, '127.0.0.1', resolve));
  return addressOf(it);
};
const urls = {
  Express: await listening(http.createServer(expressApp)),
  Fastify: await fastify.listen({ port: 0, host: '127.0.0.1' }),
  'node:http': await listening(server),
  Koa: await listening(http.createServer(koaApp.callback())),
};
console.log('ready ' + JSON.stringify(urls));
`;

const TENANTS = `
declare const request: unknown;
declare function handle(request: unknown): void;
${codeAfter('docs/tenants.md', '# Tenants')}`;

describe('the code of the documents', () => {
  assertBuilt();
  mkdirSync(join(ROOT, '.rdcp'), { recursive: true });
  // Inside of the package, so that it is found by its name.
  const directory = mkdtempSync(join(ROOT, '.rdcp', 'readme-'));
  after(() => rmSync(directory, { recursive: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const mounted = file('mounted.ts', MOUNTED);
  file('tenants.ts', TENANTS);

  it('compiles under strict types', async () => {
    const tsconfig = file('tsconfig.json', JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', tsconfig]).catch((error) => error);
    assert.equal(stdout, '');
  });

  it('mounts the endpoint in Express, Fastify, node:http and Koa', async (t) => {
    const scopes = ['status', 'control'];
    const keys = [{ id: 'k', hash: hashApiKey(KEY), clientId: 'k', scopes }];
    file('keys.json', JSON.stringify({ keys }));
    const program = run(t, mounted, { cwd: directory });
    const [, text = ''] = await program.found(/^ready (.*)$/m);
    for (const [name, url] of Object.entries(JSON.parse(text) as Record<string, string>)) {
      assert.equal(await (await fetch(url)).text(), 'app', name);
      assert.equal((await fetch(`${url}/.well-known/rdcp`)).status, 200, name);
      const body = JSON.stringify({ action: 'status' });
      const headers = { 'X-RDCP-API-Key': KEY, 'Content-Type': 'application/json' };
      const answer = await fetch(`${url}/rdcp/v1/control`, { method: 'POST', headers, body });
      assert.equal(answer.status, 200, `${name}: ${await answer.text()}`);
    }
  });
});
