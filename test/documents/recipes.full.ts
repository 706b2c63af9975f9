// Every night: five minutes of installs, for the recipes of the documents.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/client.ts';
import { type Child, start } from '../examples/child.ts';
import { type Consumer, finish, installInto, packInto } from '../package/consumer.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { portOf } from '../support/listening.ts';
import { until } from '../support/until.ts';
import { blocksOf } from './blocks.ts';

const KEY = generateApiKey({ env: 'test', randomBytes: (size) => Buffer.alloc(size, 7) });
const REGISTER = ['--import', 'opentelemetry-instrumentation-rdcp/register'];

/** The block of the recipes that imports a package. */
const recipeFor = (name: string) => recipeWith(`from '${name}'`);

function recipeWith(text: string): string {
  const found = blocksOf('ts').filter(({ document, code }) => document === 'docs/recipes.md' && code.includes(text));
  assert.equal(found.length, 1, text);
  return found[0]!.code;
}

describe('the recipes, with the packages that they are about', () => {
  const directory = newFolder();
  let tarball = '';
  before(async () => {
    tarball = await packInto(directory);
  });

  async function project(
    name: string,
    packages: Readonly<Record<string, string>>,
    files: Readonly<Record<string, string>>,
    alone = true,
  ) {
    const consumer = await installInto(join(directory, name), tarball, packages, { alone });
    const keys = [{ id: 'k', hash: hashApiKey(KEY), clientId: 'k', scopes: ['admin'] }];
    for (const [path, text] of Object.entries({ ...files, 'keys.json': JSON.stringify({ keys }) })) {
      mkdirSync(join(consumer.directory, path, '..'), { recursive: true });
      writeFileSync(join(consumer.directory, path), text);
    }
    return consumer;
  }

  async function running(
    t: TestContext,
    { directory: cwd }: Consumer,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): Promise<Child> {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(OTEL|RDCP|NODE)_/.test(name));
    const child = await start(process.execPath, args, { cwd, env: { ...Object.fromEntries(inherited), ...env } });
    t.after(() => child.end('SIGKILL'));
    return child;
  }

  const operator = (port: number) => createRdcpClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: KEY });

  /** Switches a category as soon as it can be, lets it be called, and waits for its line. */
  async function showsLine(child: Child, port: number, app: string, category: string, line: RegExp) {
    const control = operator(port);
    await until(`${category} to be switched`, async () => {
      await fetch(app).catch(() => undefined);
      return control.enable(category, { duration: '5m' }).then(
        () => true,
        () => undefined,
      );
    }).catch((error) => assert.fail(`${error}\n${child.output.stdout}\n${child.output.stderr}`));
    await until('its line', async () => {
      await (await fetch(app)).text();
      return line.test(child.output.stdout + child.output.stderr) ? true : undefined;
    });
  }

  const onPort = (code: string, port: number) => {
    assert.match(code, /listen\(3000\)/);
    return code.replace('listen(3000)', `listen(${port})`);
  };

  for (const nest of ['11', '12']) {
    it(`Nest ${nest}`, async (t) => {
      const port = await freePort();
      const module = `
        import 'reflect-metadata';
        import { Controller, Get, Logger, Module } from '@nestjs/common';
        class OrdersController {
          logger = new Logger('OrdersController');
          list() { this.logger.debug('listed'); return []; }
        }
        Controller('orders')(OrdersController);
        Get()(OrdersController.prototype, 'list', Object.getOwnPropertyDescriptor(OrdersController.prototype, 'list'));
        export class AppModule {}
        Module({ controllers: [OrdersController] })(AppModule);`;
      const main = onPort(recipeFor('@nestjs/core'), port).replace(
        'create(AppModule)',
        "create(AppModule, { logger: ['warn'] })",
      );
      const packages = {
        '@nestjs/common': nest,
        '@nestjs/core': nest,
        '@nestjs/platform-express': nest,
        'reflect-metadata': '0.2',
        rxjs: '7',
      };
      const files = { 'main.js': main, 'rdcp.js': recipeWith('// rdcp.ts'), 'app.module.js': module };
      const consumer = await project(`nest-${nest}`, packages, files);
      const child = await running(t, consumer, ['--import', './rdcp.js', 'main.js']);
      await showsLine(child, port, `http://127.0.0.1:${port}/orders`, 'ORDERS_CONTROLLER', /DEBUG.*listed/);
    });
  }

  it('Hono', async (t) => {
    const port = await freePort();
    const packages = { hono: '4', '@hono/node-server': '2' };
    const consumer = await project('hono', packages, { 'app.ts': onPort(recipeFor('hono'), port) });
    const child = await running(t, consumer, ['app.ts']);
    await showsLine(
      child,
      port,
      `http://127.0.0.1:${port}/orders`,
      'ORDERS',
      /DEBUG ORDERS listed \{"path":"\/orders"\}/,
    );
  });

  const AUTO = { '0.81': 'after them', '0.82': 'together, in one command' } as const;
  for (const [version, how] of Object.entries(AUTO)) {
    it(`auto-instrumentations ${version}, installed ${how}`, (t) => besideAuto(t, version, how === AUTO['0.81']));
  }

  async function besideAuto(t: TestContext, version: string, alone: boolean) {
    const [port, control] = [await freePort(), await freePort()];
    const app = `
      import { createServer } from 'node:http';
      import { category } from 'opentelemetry-instrumentation-rdcp/api';
      const orders = category('ORDERS');
      createServer((request, response) => { orders.debug('listed'); response.end(); }).listen(${port});`;
    const packages = { '@opentelemetry/auto-instrumentations-node': version };
    const consumer = await project(`auto-${version}`, packages, { 'app.js': app }, alone);
    const [command = ''] = blocksOf('sh')
      .filter(({ document }) => document === 'docs/recipes.md')
      .flatMap(({ code }) => /^node (.*)$/m.exec(code)?.[1] ?? []);
    const env = {
      RDCP_PORT: String(control),
      RDCP_API_KEYS_FILE: 'keys.json',
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'console',
      OTEL_NODE_RESOURCE_DETECTORS: 'none',
    };
    const child = await running(t, consumer, command.split(' '), env);
    await showsLine(child, control, `http://127.0.0.1:${port}/`, 'ORDERS', /body: 'listed'/);
    assert.match(child.output.stderr, /attached to the OpenTelemetry SDK/);
  }

  it('Next', async (t) => {
    const [port, control] = [await freePort(), await freePort()];
    const files = {
      'app/layout.js': 'export default function Layout({ children }) { return <html><body>{children}</body></html>; }',
      'app/page.js': 'export default function Page() { return <p>open</p>; }',
      'app/orders/route.js': `
        import { category } from 'opentelemetry-instrumentation-rdcp/api';
        const orders = category('ORDERS');
        export const dynamic = 'force-dynamic';
        export function GET() { orders.debug('listed'); return Response.json([]); }`,
    };
    const packages = {
      next: '16',
      react: '19',
      'react-dom': '19',
      '@opentelemetry/sdk-node': '0.223',
    };
    const consumer = await project('next', packages, files);
    const next = join(consumer.directory, 'node_modules/next/dist/bin/next');
    const build = await finish(process.execPath, [next, 'build'], consumer.directory, { NEXT_TELEMETRY_DISABLED: '1' });
    assert.equal(build.code, 0, build.stderr);
    const env = {
      NODE_OPTIONS: REGISTER.join(' '),
      RDCP_PORT: String(control),
      RDCP_API_KEYS_FILE: 'keys.json',
      OTEL_EXPORTER_PROMETHEUS_PORT: '0',
    };
    const child = await running(t, consumer, [next, 'start', '-p', String(port)], env);
    await showsLine(child, control, `http://127.0.0.1:${port}/orders`, 'ORDERS', /DEBUG ORDERS listed/);
  });

  describe('for tests', () => {
    let consumer: Consumer;
    const code = recipeFor('vitest');
    before(async () => {
      const jest = code
        .replace(" from 'vitest'", " from '@jest/globals'")
        .replace(', type DebugRecord', '')
        .replace(': DebugRecord[]', '');
      const files = { 'app.spec.ts': code, 'app.test.mjs': jest };
      consumer = await project('tested', { vitest: '5', jest: '30' }, files);
    });
    const ran = (command: string, args: string[], env = {}) =>
      finish(join(consumer.directory, 'node_modules/.bin', command), args, consumer.directory, env);

    it('Vitest', async () => {
      const { code, stdout, stderr } = await ran('vitest', ['run', 'app.spec.ts']);
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /1 passed/);
    });

    it('Jest', async () => {
      const { code, stderr } = await ran('jest', ['--testMatch', '**/app.test.mjs'], {
        NODE_OPTIONS: '--experimental-vm-modules',
      });
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^Tests: +1 passed, 1 total$/m);
    });
  });

  it('Sentry: an error takes the recorded lines along', async (t) => {
    const received: string[] = [];
    const ingest = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text) => received.push(text));
      request.on('end', () => response.end('{}'));
    });
    const program = `${recipeFor('@sentry/node')}
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category, runWork } from 'opentelemetry-instrumentation-rdcp/api';
createRdcp({ server: false, announce: false, recorder: { categories: ['*'] } });
const hasBegun = () =>
  runWork('start', () => {
    category('ORDERS').debug('begins');
    return recordedLines().length > 0;
  });
while (!hasBegun()) await new Promise(setImmediate);
runWork('order', () => {
  category('ORDERS').debug('over the credit limit');
  Sentry.captureException(new Error('refused'));
});
await Sentry.flush(5000);
`;
    const consumer = await project('sentry', { '@sentry/node': '11' }, { 'main.ts': program });
    const SENTRY_DSN = `http://key@127.0.0.1:${await portOf(t, ingest)}/1`;
    const child = await running(t, consumer, ['main.ts'], { SENTRY_DSN });
    await until('the error has arrived', () => received.join('').includes('ORDERS over the credit limit'));
    assert.match(received.join(''), /"debug":\["ORDERS over the credit limit"\]/);
    await child.end('SIGKILL');
  });

  it('an error handler of Express writes the recorded lines', async (t) => {
    const code = recipeWith('express.ErrorRequestHandler').replace(
      "app.get('/orders/:id', () => {",
      "app.get('/orders/:id', () => {\n  category('ORDERS').debug('looked for');",
    );
    const program = `${code.replace('import { recordedLines }', 'import { category, recordedLines }')}
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
createRdcp({ server: false, announce: false, recorder: { categories: ['*'] } });
app.listen(Number(process.env.PORT), () => console.log('open'));
`;
    const consumer = await project('express-errors', { express: '5' }, { 'main.ts': program });
    const port = await freePort();
    const child = await running(t, consumer, ['main.ts'], { PORT: String(port) });
    await until('it listens', () => child.output.stdout.includes('open'));
    // The remote control begins in a later turn than the application.
    await until('the line was written', async () => {
      assert.equal((await fetch(`http://127.0.0.1:${port}/orders/1`)).status, 500);
      return child.output.stderr.includes("message: 'looked for'");
    });
  });
});
