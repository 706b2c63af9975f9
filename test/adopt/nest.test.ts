import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { built } from '../support/built.ts';
import { inFull } from '../support/tiers.ts';
import { run } from './application.ts';
import { importNest12, requireNest } from './loggers.ts';
import { nestCases, setUp } from './nest-cases.ts';

describe('Nest 11', () => nestCases(requireNest('@nestjs/common')));

describe('Nest 12', () => {
  nestCases(importNest12);

  it('NEST_LOG_LEVEL counts although it is set after a logger was made', async (t) => {
    const { Logger, during, names } = await setUp(t, importNest12);
    new Logger('Early');
    assert.deepEqual(names(), ['EARLY']);
    process.env.NEST_LOG_LEVEL = 'log';
    t.after(() => delete process.env.NEST_LOG_LEVEL);
    assert.deepEqual(
      during(() => Logger.debug('d', 'Early')),
      [],
    );
  });
});

const LINE = /(DEBUG) +\[(\w+)\] (\w+)/;
const written = (stdout: string) => stdout.split('\n').flatMap((line) => LINE.exec(line)?.slice(2).join(' ') ?? []);
const ON = { categories: { IMPORTED: { enabled: true }, REQUIRED: { enabled: true }, OFF: { enabled: false } } };

test('Nest 12 is adopted under register, imported and required', async (t) => {
  const app = `
    import { createRequire } from 'node:module';
    import { Logger } from 'nestjs-common-12';
    const required = createRequire(import.meta.url)('nestjs-common-12').Logger;
    if (required !== Logger) throw new Error('two copies');
    Logger.overrideLogger(['log']);
    for (const name of ['Imported', 'Off']) new Logger(name).debug('line');
    new required('Required').debug('line');`;
  const { stdout, stderr } = await run(t, app, { config: ON, env: { NO_COLOR: '1' } });
  assert.deepEqual([written(stdout), stderr], [['Imported line', 'Required line'], []]);
});

inFull('Nest 12 that was loaded before is adopted where it was required or handed over', async (t) => {
  for (const handOver of ["createRequire(import.meta.url)('nestjs-common-12')", 'adopt(nest)']) {
    const app = `
      import { createRequire } from 'node:module';
      import * as nest from 'nestjs-common-12';
      import { adopt, createRdcp } from '${built('index.js')}';
      const { Logger } = nest;
      const log = new Logger('Imported');
      Logger.overrideLogger(['log']);
      ${handOver};
      const rdcp = createRdcp({ server: { port: 0 }, adopt: { nest: true }, announce: false, ...${JSON.stringify(ON)} });
      log.debug('adopted');
      new Logger('Imported').debug('later');
      await rdcp.close();
      log.debug('closed');
      Logger.overrideLogger(['debug']);
      log.debug('itself');`;
    const { stdout, stderr } = await run(t, app, { preload: [], env: { NO_COLOR: '1' } });
    const expected = ['Imported adopted', 'Imported later', 'Imported itself'];
    assert.deepEqual([written(stdout), stderr], [expected, []], handOver);
  }
});
