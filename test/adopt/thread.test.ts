import assert from 'node:assert/strict';
import { test } from 'node:test';
import { built } from '../support/built.ts';
import { run } from './application.ts';

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
