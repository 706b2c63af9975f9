// In a process of its own: it follows the HTTP requests of the process. Frameworks that are no dependency of ours are installed.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder } from '../support/folder.ts';
import { selects } from './matched-service.ts';

const cwd = newFolder();
writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps'];
const nest = ['@nestjs/common@11', '@nestjs/core@11', '@nestjs/platform-express@11', 'reflect-metadata@0.2', 'rxjs@7'];
await promisify(execFile)('npm', ['install', ...flags, ...nest, 'hono@4', '@hono/node-server@1'], { cwd });
const load = createRequire(join(cwd, 'service.cjs'));

selects(
  'Nest',
  async (t, handle) => {
    load('reflect-metadata');
    const { Controller, Module, Post, Req } = load('@nestjs/common');
    class OrdersController {
      find(request: IncomingMessage & { params: { id: string } }) {
        return handle(request.params.id, request.headers);
      }
    }
    Controller()(OrdersController);
    Post(['orders/:id', 'basket/:id'])(OrdersController.prototype, 'find', {
      value: OrdersController.prototype.find,
    });
    Req()(OrdersController.prototype, 'find', 0);
    class AppModule {}
    Module({ controllers: [OrdersController] })(AppModule);
    const app = await load('@nestjs/core').NestFactory.create(AppModule, { logger: false });
    t.after(() => app.close());
    await app.listen(0, '127.0.0.1');
    return `http://127.0.0.1:${app.getHttpServer().address().port}`;
  },
  'one route',
);

selects('Hono', async (t, handle) => {
  const { Hono } = load('hono');
  const app = new Hono();
  interface Ctx {
    readonly req: { param(name: string): string; header(): Record<string, string>; json(): Promise<unknown> };
    text(text: string): unknown;
  }
  for (const path of ['/orders/:id', '/basket/:id']) {
    app.post(path, async ({ req, text }: Ctx) => {
      await req.json();
      return text(await handle(req.param('id'), req.header()));
    });
  }
  const server: Server = load('@hono/node-server').serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  t.after(() => server.close());
  if (!server.listening) await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
