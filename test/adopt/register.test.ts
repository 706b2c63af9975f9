import assert from 'node:assert/strict';
import { test } from 'node:test';
import { built } from '../support/built.ts';
import { inFull } from '../support/tiers.ts';
import { run } from './application.ts';

/** Every way to get at a copy of debug. Each writes one line. */
const EVERYTHING = `
  import { createRequire } from 'node:module';
  import debug from 'debug';
  import old from 'debug-2';
  const require = createRequire(import.meta.url);
  debug('imported')('line %d', 1);
  old('imported:old')('line');
  require('debug')('required')('line');
  require('debug-3')('required:old')('line');
  if (require('debug') !== debug) throw new Error('two copies');
  debug('quiet')('never');
`;
const NAMES = ['IMPORTED', 'IMPORTED_OLD', 'REQUIRED', 'REQUIRED_OLD'];
const ON = { categories: Object.fromEntries(NAMES.map((name) => [name, { enabled: true }])) };
const HOOK = './otel-hook.mjs';
const EXPECTED = [
  /^DEBUG IMPORTED line 1 \{"namespace":"imported","args":\[1\]\}$/,
  /^DEBUG IMPORTED_OLD line \{"namespace":"imported:old"\}$/,
  /^DEBUG REQUIRED line /,
  /^DEBUG REQUIRED_OLD line /,
];

/** Where the hook of OpenTelemetry stands beside ours. */
const ORDERS = {
  'under register': [built('register.js')],
  "before OpenTelemetry's own hook": [built('register.js'), HOOK],
  "after OpenTelemetry's own hook": [HOOK, built('register.js')],
};

for (const [order, preload] of Object.entries(ORDERS)) {
  const tier = preload.includes(HOOK) ? inFull : test;
  tier(`every copy of debug is adopted, imported or required, ${order}`, async (t) => {
    const { stderr } = await run(t, EVERYTHING, { config: ON, preload });
    const lines = stderr.filter((line) => !line.includes('Warning') && !line.startsWith('--trace'));
    assert.equal(lines.length, EXPECTED.length, stderr.join('\n'));
    for (const [at, expected] of EXPECTED.entries()) assert.match(lines[at]!, expected);
  });
}

inFull('what the option adopt excludes stays as it was', async (t) => {
  const app = `import debug from 'debug'; debug('app')('natively');`;
  const config = { adopt: { map: [{ match: 'app', exclude: true }] } };
  assert.deepEqual((await run(t, app, { config, env: { DEBUG: 'app' } })).stderr, ['app natively']);
});

test('a remote control that was closed or disabled leaves debug as it was', async (t) => {
  const app = `
    import { createRdcp } from '${built('index.js')}';
    import debug from 'debug';
    const log = debug('app');
    const rdcp = createRdcp({
      server: { port: 0 }, adopt: true, announce: false, categories: { APP: { enabled: true } }
    });
    log('ours');
    rdcp.setEnabled(false);
    log('native while disabled');
    rdcp.setEnabled(true);
    log('ours again');
    await rdcp.close();
    log('native at the end');`;
  const { stderr } = await run(t, app, { preload: [], env: { DEBUG: 'app' } });
  assert.deepEqual(stderr, [
    'DEBUG APP ours {"namespace":"app"}',
    'app native while disabled',
    'DEBUG APP ours again {"namespace":"app"}',
    'app native at the end',
  ]);
});

test('createRdcp adopts nothing that it is not asked for', async (t) => {
  const app = `
    import { createRdcp } from '${built('index.js')}';
    for (const adopt of [undefined, false, {}, { pino: true }, { debug: false }]) createRdcp({ server: false, adopt });
    const { default: debug } = await import('debug');
    debug('app')('natively');`;
  const { stderr } = await run(t, app, { preload: [], env: { DEBUG: 'app' } });
  assert.deepEqual(stderr, ['app natively']);
});

test('two copies of this package patch a library once', async (t) => {
  const app = `
    import { createRequire } from 'node:module';
    import { createRdcp } from '${built('index.js')}';
    const require = createRequire(import.meta.url);
    for (const file of Object.keys(require.cache)) if (file.includes('/dist/cjs/')) delete require.cache[file];
    const other = require('${built('cjs/index.js').replace('file://', '')}');
    const copies = [createRdcp, other.createRdcp].map((create) => create({
      server: { port: 0 }, adopt: true, announce: false, categories: { APP: { enabled: true } }
    }));
    if (createRdcp === other.createRdcp) throw new Error('one copy');
    const { default: debug } = await import('debug');
    const log = debug('app');
    log('once');
    await copies[0].close();
    log('still');
    await copies[1].close();
    log('natively');`;
  const { stderr } = await run(t, app, { preload: [], env: { DEBUG: 'app' } });
  assert.deepEqual(stderr, [
    'DEBUG APP once {"namespace":"app"}',
    'DEBUG APP still {"namespace":"app"}',
    'app natively',
  ]);
});

test('a worker thread adopts what it loads, and leaves it as it was when the main thread is no longer controlled', async (t) => {
  const thread = `
    import debug from 'debug';
    import { parentPort } from 'node:worker_threads';
    const loggers = ['app', 'sql', 'off'].map((name) => debug(name));
    parentPort.on('message', (wanted) => {
      const wait = setInterval(() => {
        if (String(loggers.map((log) => log.enabled)) !== String(wanted)) return;
        clearInterval(wait);
        for (const log of loggers) log('with ' + wanted);
        process.stderr.write('', () => parentPort.postMessage('done'));
      }, 5);
    });`;
  const app = `
    import { once } from 'node:events';
    import { writeFileSync } from 'node:fs';
    import { Worker } from 'node:worker_threads';
    import { createRdcp } from '${built('index.js')}';
    writeFileSync('thread.mjs', ${JSON.stringify(thread)});
    const rdcp = createRdcp({ server: { port: 0 }, announce: false, categories: { SQL: { enabled: true } } });
    const worker = new Worker('./thread.mjs', { execArgv: ['--import', '${built('register.js')}'] });
    async function say(...wanted) {
      worker.postMessage(wanted);
      await once(worker, 'message');
    }
    await say(true, true, false);
    rdcp.setEnabled(false);
    await say(true, false, false);
    await rdcp.close();
    await worker.terminate();`;
  const { stderr } = await run(t, app, { config: { adopt: { debug: true } }, preload: [], env: { DEBUG: 'app' } });
  // debug's own lines and those of the pipeline come to the main thread through two ports, so only each keeps its order.
  const [own, ours] = [
    stderr.filter((line) => line.startsWith('app ')),
    stderr.filter((line) => !line.startsWith('app ')),
  ];
  assert.deepEqual(own, ['app with true,true,false', 'app with true,false,false']);
  assert.deepEqual(ours, ['DEBUG SQL with true,true,false {"namespace":"sql"}']);
});
