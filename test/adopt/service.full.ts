import assert from 'node:assert/strict';
import { test } from 'node:test';
import { built } from '../support/built.ts';
import { run } from './application.ts';

const KEY = 'a-secret-of-thirty-two-characters';

test('an Express service without a line of ours: listed with its sources, switched, and counted as often as it wrote', async (t) => {
  const app = `
    import { once } from 'node:events';
    import express from 'express';
    const service = express().get('/', (req, res) => res.send('ok')).listen(0);
    await once(service, 'listening');
    const rdcp = 'http://127.0.0.1:' + process.env.RDCP_PORT + '/rdcp/v1/';
    const headers = { 'X-RDCP-API-Key': '${KEY}', 'Content-Type': 'application/json' };
    const discover = async () => (await (await fetch(rdcp + 'discovery', { headers })).json()).categories;
    const control = (action) => fetch(rdcp + 'control', { method: 'POST', headers, body: JSON.stringify({ action, categories: ['ROUTER'] }) });
    const use = async () => (await fetch('http://127.0.0.1:' + service.address().port)).text();
    while (!(await fetch(rdcp + 'status', { headers }).catch(() => undefined))?.ok) await new Promise((done) => setTimeout(done, 20));
    await use();
    await control('enable');
    for (let turn = 0; turn < 3; turn++) await use();
    await control('disable');
    await use();
    console.log(JSON.stringify((await discover()).find(({ name }) => name === 'ROUTER')));
    process.exit();`;
  const { stdout, stderr } = await run(t, app, {
    preload: [built('register.js')],
    env: { RDCP_API_KEY: KEY, RDCP_PORT: '19465' },
  });
  const { otelrdcp_source: source, metrics, enabled } = JSON.parse(stdout);
  const lines = stderr.filter((line) => line.startsWith('DEBUG ROUTER '));
  assert.deepEqual([source.kind, source.name, source.count, enabled], ['debug', 'router', 1, false]);
  assert.match(source.version, /^4\./);
  assert.ok(lines.length >= 3, stderr.join('\n'));
  assert.equal(metrics.callsTotal, lines.length);
  assert.ok(
    lines.some((line) => line.includes('dispatching GET /')),
    lines[0],
  );
});
