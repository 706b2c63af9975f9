import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parseAst } from 'rolldown/parseAst';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/client.ts';
import { blocksOf } from '../documents/blocks.ts';
import { run } from '../safety/program.ts';
import { assertBuilt, ROOT } from '../support/built.ts';
import { folderOfPackage } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';

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

const MOUNTED_CODE = codeAfter('docs/services.md', '**Mounted in a server you have**');

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
${MOUNTED_CODE.replace('\nhttp.createServer(', '\nconst server = http.createServer(')}
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

/** Definitions that the blocks of the documents leave to their reader, by name. */
const LEFT_OUT = `
import type { CategoryHandle } from 'opentelemetry-instrumentation-rdcp/api';
declare global {
  const database: CategoryHandle;
  const statement: string, baseUrl: string, apiKey: string, key: string;
  const request: unknown, explain: (statement: string) => string, placeOrder: () => Promise<void>;
  const handle: (request: unknown) => void;
  const logger: import('pino').Logger;
  const debug: import('debug').Debug, loglevel: typeof import('loglevel'), consola: { withTag(tag: string): { level: number } };
  const bunyan: { createLogger(options: { name: string }): { level(): number; levels(): number[] } };
  const createRdcp: typeof import('opentelemetry-instrumentation-rdcp').createRdcp;
  const RdcpInstrumentation: typeof import('opentelemetry-instrumentation-rdcp').RdcpInstrumentation;
  const rdcp: import('opentelemetry-instrumentation-rdcp').Rdcp;
  const app: import('express').Express;
  const tenantOf: (request: import('express').Request) => string;
  const NodeSDK: typeof import('@opentelemetry/sdk-node').NodeSDK;
  const exporter: import('@opentelemetry/sdk-logs').LogRecordExporter;
  const OTLPLogExporter: new () => import('@opentelemetry/sdk-logs').LogRecordExporter;
  const BatchLogRecordProcessor: typeof import('@opentelemetry/sdk-logs').BatchLogRecordProcessor;
  const ParentBasedSampler: typeof import('@opentelemetry/sdk-trace').ParentBasedSampler;
  const TraceIdRatioBasedSampler: typeof import('@opentelemetry/sdk-trace').TraceIdRatioBasedSampler;
  const MyStore: new () => import('opentelemetry-instrumentation-rdcp').StateStore & { close(): void };
}`;

/** test/documents/recipes.full.ts installs the others, and runs what imports them. */
function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** A block as a module. Options without what they belong to are those of `createRdcp`. */
function moduleOf(code: string): string {
  return `${/^\w+: [{[]/.test(code) ? `createRdcp({ ${code} });` : code}\nexport {};\n`;
}

describe('the code of the documents', () => {
  assertBuilt();
  const directory = folderOfPackage();
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const mounted = file('mounted.ts', MOUNTED);
  file('left-out.d.ts', LEFT_OUT);
  const blocks = blocksOf('ts', 'js').filter(
    ({ code }) => !code.includes(MOUNTED_CODE) && !/^\/\/ \S+\.mjs$|^module\.exports/m.test(code),
  );
  const installed = blocks.filter(({ code }) =>
    [...code.matchAll(/from '([^']+)'/g)].every(([, name = '']) => isInstalled(name)),
  );
  for (const { place, code } of installed) file(`${place.replaceAll(/\W/g, '-')}.ts`, moduleOf(code));

  it('compiles under strict types', async () => {
    const tsconfig = file(
      'tsconfig.json',
      JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'], compilerOptions: { noUnusedLocals: false } }),
    );
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', tsconfig]).catch((error) => error);
    assert.equal(stdout, '');
  });

  it('leaves out what recipes alone import', () => {
    const others = blocks.filter((block) => !installed.includes(block));
    assert.deepEqual([...new Set(others.map(({ document }) => document))], ['docs/recipes.md']);
    for (const { place, code } of others) assert.doesNotThrow(() => parseAst(code, { lang: 'ts' }), place);
  });

  inFull('mounts the endpoint in Express, Fastify, node:http and Koa', async (t) => {
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

  it('lets a service with a NodeSDK of its own end at SIGTERM while its server listens', async (t) => {
    const code = codeAfter('docs/services.md', '**In your own NodeSDK:**').replace("'keys.json'", "'no-keys.json'");
    file('no-keys.json', '{ "keys": [] }');
    const service = `
      import { createServer } from 'node:http';
      ${code}
      createServer().listen(0, '127.0.0.1', () => console.log('listens'));`;
    const env = {
      RDCP_PORT: '0',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    };
    const program = run(t, file('own-sdk.ts', service), { cwd: directory, env });
    await program.found(/listens/);
    program.child.kill('SIGTERM');
    assert.equal(await program.ended, 'SIGTERM', program.output.stderr);
  });

  inFull('makes categories of the loggers in docs/migration.md, under the names that it says', async (t) => {
    const code = blocksOf('ts').filter(({ document }) => document === 'docs/migration.md');
    assert.equal(code.length, 3);
    const parts = code.map((block, at) => file(`migration-${at}.ts`, block.code));
    const main = file(
      'migration.ts',
      `${parts.map((path) => `await import('${path}');`).join('\n')}\nsetInterval(() => {}, 1000);`,
    );
    const port = String(await freePort());
    const env = { RDCP_PORT: port, RDCP_SERVER_API_KEY: KEY, OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
    const program = run(t, main, { imports: ['opentelemetry-instrumentation-rdcp/register'], cwd: directory, env });
    await program.found(/rdcp: remote control on/, 'stderr');
    const client = createRdcpClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: KEY });
    await until('the categories', async () => {
      const { categories } = await client.discovery();
      const found = categories.map(({ name, otelrdcp_source }) => `${name} ${otelrdcp_source?.kind}`);
      return found.some((each) => /^ORDERS /.test(each)) && found.includes('APP_SQL debug');
    });
  });
});
