// Every night: installs each Nest with two loggers.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { assertSwitched, installInto, serveApplication } from './application.ts';

/** Nest with two of its loggers, and the pino that nestjs-pino needs. */
const nest = (line: number, ofPino: number, ofWinston: number, http: number, pino: number) => [
  ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${line}`),
  ...[`nestjs-pino@${ofPino}`, `nest-winston@${ofWinston}`, `pino-http@${http}`, `pino@${pino}`],
];
const LINES = { '10': nest(10, 4, 1, 10, 9), '11': nest(11, 5, 2, 10, 9), '12': nest(12, 5, 2, 11, 10) };

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
  const { output, found, operatorOf, request } = await serveApplication(t, {
    ...{ cwd, file, args: [kind], env: { NO_COLOR: '1' } },
  });
  let lines = 0;
  const use = async (tenant?: string) => {
    output.text = '';
    assert.deepEqual(JSON.parse(await request('cats', tenant)), ['cat']);
    await found(/cats found/);
    const times = output.text.match(/looking for cats/g)?.length ?? 0;
    assert.ok(times <= 1, `${file} ${kind}: each line comes out once`);
    lines += times;
  };
  const { categories } = await operatorOf().discovery();
  const { name } = categories.find(({ otelrdcp_source: source }) => source?.name === 'CatsService')!;
  assert.ok(!categories.some((each) => each.name.startsWith('KOA')), 'only the endpoint uses Koa');
  await assertSwitched(operatorOf, { name, use, written: () => lines, tenants: ['acme', 'globex'] });
}
