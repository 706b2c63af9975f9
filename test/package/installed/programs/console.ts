import assert from 'node:assert/strict';
import { service } from './service.ts';

const { rdcp, url, client } = await service();
const { otelrdcp_console: served } = await client.wellKnown();
const page = await (await fetch(url + served?.page)).text();
const files = [...page.matchAll(/(?:src|href)="([^"#]+\.(?:js|css))"/g)].map(
  ([, file = '']) => new URL(file, url + served?.page),
);
assert.equal(files.length, 2, page);
for (const file of files) {
  const answer = await fetch(file);
  assert.match(answer.headers.get('content-type') ?? '', /javascript|css/);
  assert.ok((await answer.text()).length > 5000, `${file}`);
}
const { code } = await client.consoleCode();
const session = await fetch(`${url}/rdcp/v1/console/session`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ code }),
});
assert.equal(session.status, 200);
await rdcp.close();
