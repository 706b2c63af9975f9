// Every night: installs each Nest with two loggers.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { installInto, serveApplication } from './application.ts';

const PINO_9 = ['pino-http@10', 'pino@9'];
const LINES = {
  '10': [
    '@nestjs/common@10',
    '@nestjs/core@10',
    '@nestjs/platform-express@10',
    'nestjs-pino@4',
    'nest-winston@1',
    ...PINO_9,
  ],
  '11': [
    '@nestjs/common@11',
    '@nestjs/core@11',
    '@nestjs/platform-express@11',
    'nestjs-pino@5',
    'nest-winston@2',
    ...PINO_9,
  ],
  '12': [
    ...['@nestjs/common@12', '@nestjs/core@12', '@nestjs/platform-express@12', 'nestjs-pino@5', 'nest-winston@2'],
    ...['pino-http@11', 'pino@10'],
  ],
};

/** A service without a line of ours. Its logger is that of its argument. */
const SERVICE = `
require('reflect-metadata');
const { context, propagation } = require('@opentelemetry/api');
const { Controller, Get, Injectable, Logger, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const [, , kind] = process.argv;
const own = kind === 'pino itself';
class CatsService {
  constructor(logger = new Logger('CatsService')) {
    this.logger = logger;
    if (own) logger.setContext('CatsService');
  }
  find() {
    this.logger.debug('looking for cats');
    own ? this.logger.info('cats found') : this.logger.log('cats found');
    return ['cat'];
  }
}
if (own) Reflect.defineMetadata('design:paramtypes', [require('nestjs-pino').PinoLogger], CatsService);
Injectable()(CatsService);
class CatsController {
  constructor(cats) { this.cats = cats; }
  all() { return this.cats.find(); }
}
Reflect.defineMetadata('design:paramtypes', [CatsService], CatsController);
Controller('cats')(CatsController);
Get()(CatsController.prototype, 'all', Object.getOwnPropertyDescriptor(CatsController.prototype, 'all'));
class AppModule {}
const imports = [];
if (kind.startsWith('pino')) imports.push(require('nestjs-pino').LoggerModule.forRoot({ pinoHttp: { level: 'info', autoLogging: false } }));
Module({ imports, providers: [CatsService], controllers: [CatsController] })(AppModule);
(async () => {
  const options = { bufferLogs: kind !== 'console', ...(kind === 'console' && { logger: ['log', 'warn', 'error'] }) };
  if (kind === 'winston') {
    const winston = require('winston');
    const { WinstonModule } = require('nest-winston');
    options.logger = WinstonModule.createLogger({ transports: [new winston.transports.Console()] });
  }
  const app = await NestFactory.create(AppModule, options);
  if (kind.startsWith('pino')) app.useLogger(app.get(require('nestjs-pino').Logger));
  app.use(({ headers }, res, next) => {
    const { 'x-tenant': value } = headers;
    if (value === undefined) return next();
    return context.with(propagation.setBaggage(context.active(), propagation.createBaggage({ tenant: { value } })), next);
  });
  await app.listen(0);
  console.log('serves ' + app.getHttpServer().address().port);
})();
`;

/** Its first lines as an ECMAScript module. */
const IMPORTS = `
import 'reflect-metadata';
import * as api from '@opentelemetry/api';
import * as common from '@nestjs/common';
import * as core from '@nestjs/core';
import * as nestjsPino from 'nestjs-pino';
import nestWinston from 'nest-winston';
import winston from 'winston';
const modules = { '@opentelemetry/api': api, '@nestjs/common': common, '@nestjs/core': core, 'nestjs-pino': nestjsPino, 'nest-winston': nestWinston, winston };
const require = (name) => modules[name];
`;

const OTHERS = ['reflect-metadata@0.2', 'rxjs@7', 'winston@3'];

async function serve(t: TestContext, cwd: string, file: string, kind: string) {
  const service = await serveApplication(t, { cwd, file, args: [kind], env: { NO_COLOR: '1' } });
  const { output, found } = service;
  /** Returns how many debug lines a request causes. @param tenant whose request it is */
  const request = async (tenant?: string) => {
    output.text = '';
    assert.deepEqual(JSON.parse(await service.request('cats', tenant)), ['cat']);
    await found(/cats found/);
    return output.text.match(/looking for cats/g)?.length ?? 0;
  };
  return { operatorOf: service.operatorOf, request };
}

for (const [line, packages] of Object.entries(LINES)) {
  test(`a service of Nest ${line} under register: each context is switched, for everybody or one tenant, whatever logger is behind`, async (t) => {
    const cwd = await installInto(newFolder(t), [...packages, ...OTHERS], {
      'rdcp.json': { tenancy: { isolation: 'organization', baggageKey: 'tenant' } },
      'service.cjs': SERVICE,
      'service.mjs': IMPORTS + SERVICE,
    });
    for (const file of ['service.cjs', 'service.mjs']) {
      for (const kind of ['console', 'pino', 'pino itself', 'winston']) await switches(t, cwd, file, kind);
    }
  });
}

async function switches(t: TestContext, cwd: string, file: string, kind: string): Promise<void> {
  const which = `${file} ${kind}`;
  const { operatorOf, request } = await serve(t, cwd, file, kind);
  const operator = operatorOf();
  const cats = async (tenant?: string) => {
    const { categories } = await operatorOf(tenant).discovery();
    const found = categories.find(({ otelrdcp_source }) => otelrdcp_source?.name === 'CatsService');
    assert.ok(found, `${which}: ${categories.map(({ name }) => name)}`);
    assert.ok(!categories.some(({ name }) => name.startsWith('KOA')), 'only the endpoint uses Koa');
    return found;
  };
  const { name, enabled } = await cats();
  assert.equal(enabled, false, which);
  assert.equal(await request(), 0, which);
  await operator.enable(name);
  assert.deepEqual([await request(), await request()], [1, 1], which);
  await operator.disable(name);
  assert.equal(await request(), 0, which);
  assert.equal((await cats()).metrics.callsTotal, 2, which);
  const everybody = ['acme', 'globex', undefined];
  const linesOf = async () => {
    const lines = [];
    for (const tenant of everybody) lines.push(await request(tenant));
    return lines;
  };
  assert.deepEqual(await linesOf(), [0, 0, 0], which);
  const operatorOfAcme = operatorOf('acme');
  await operatorOfAcme.enable(name);
  assert.deepEqual(await linesOf(), [1, 0, 0], `${which} is on for acme`);
  await operatorOfAcme.reset(name);
  assert.deepEqual(await linesOf(), [0, 0, 0], `${which} is off for acme again`);
  const counted = await Promise.all(everybody.map(async (tenant) => (await cats(tenant)).metrics.callsTotal));
  assert.deepEqual(counted, [1, 0, 3], `${which} is counted for acme`);
}
