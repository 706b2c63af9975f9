import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hashApiKey, inspectApiKey } from '../../src/access/api-key.ts';
import { openKeysFile } from '../../src/access/api-keys.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { cellsOf, rdcp, rdcpProcess, saying, wordsOf } from './run.ts';

const creation = (file: string, given: string) => `keys create --file ${file} ${given}`;
const says = saying(rdcp);
const create = (file: string, given: string) => says(creation(file, given));
const recordsOf = (file: string) => JSON.parse(readFileSync(file, 'utf8')).keys;

test('keys create prints the key alone and keeps its hash in a private file', async (t) => {
  const file = join(newFolder(t), 'keys.json');
  const before = Date.now();
  const given = '--client ops --scopes control,status --tenant acme --user ann --env test --expires 90d';
  const made = await says(creation(file, given), /^rdcp_test_v1_[0-9A-Za-z]{49}\n$/);
  const key = made.stdout.trim();
  assert.equal(inspectApiKey(key).form, 'generated');
  assert.equal(made.stderr.includes(key), false);
  assert.equal(statSync(file).mode & 0o777, 0o600);

  const [record] = recordsOf(file);
  const { id, expiresAt, ...rest } = record;
  assert.match(id, /^key-[0-9a-f]{12}$/);
  assert.deepEqual(rest, {
    hash: hashApiKey(key),
    clientId: 'ops',
    userId: 'ann',
    tenantId: 'acme',
    scopes: ['status', 'control'],
  });
  const days = (Date.parse(expiresAt) - before) / 86_400_000;
  assert.ok(days > 89.99 && days < 90.01, `expires in ${days} days`);

  const opened = openKeysFile(file);
  t.after(() => opened.close());
  assert.equal(opened.value.byHash.get(hashApiKey(key))?.principal.userId, 'ann');
});

test('keys create makes a key that may do little', async (t) => {
  const file = join(newFolder(t), 'keys.json');
  const allowed = '--allow db_*,HTTP --allow-actions enable,tail --allow-for 15m --allow-rate 20 --allow-calls 100';
  const more = '--allow-bytes 9000 --allow-tenants a* --redact-tail --approval';
  const made = await create(file, `--client agent --scopes control,tail ${allowed} ${more}`);
  const [{ allow, approval }] = recordsOf(file);
  assert.deepEqual(allow, {
    categories: ['DB_*', 'HTTP'],
    actions: ['enable', 'tail'],
    maxDuration: '15m',
    maxBudget: { callsPerSecond: 20, calls: 100, bytes: 9000 },
    tail: 'redacted',
    tenants: ['a*'],
  });
  assert.equal(approval, true);
  const what =
    'enable, tail, for at most 15m, callsPerSecond 20, calls 100, bytes 9000, tails without values, tenants a*';
  assert.match(made.stderr, new RegExp(`only DB_\\*, HTTP: ${what.replace('*', '\\*')}; else with approval;`));
  await create(file, '--client ops --scopes status');
  const { stdout } = await says(`keys list --file ${file}`);
  assert.deepEqual(
    cellsOf(stdout).map((cells) => cells.at(-1)),
    ['ALLOWED', `DB_*, HTTP: ${what}`, 'all'],
  );
});

inFull('keys made at the same time are all kept, and no draft or lock stays behind', async (t) => {
  const directory = newFolder(t);
  const file = join(directory, 'keys.json');
  const clients = Array.from({ length: 8 }, (_, index) => `c${index}`);
  const made = await Promise.all(
    clients.map((client) => rdcpProcess(wordsOf(creation(file, `--client ${client} --scopes status`)))),
  );
  assert.deepEqual(
    made.map(({ code, stderr }) => (code === 0 ? 0 : stderr)),
    clients.map(() => 0),
  );
  assert.deepEqual(
    recordsOf(file)
      .map(({ clientId }: { clientId: string }) => clientId)
      .sort(),
    clients,
  );
  assert.deepEqual(readdirSync(directory), ['keys.json']);
});

test('keys list shows every key and its state, never a hash', async (t) => {
  const file = join(newFolder(t), 'keys.json');
  const record = (id: string, fields: object) => ({
    id,
    hash: hashApiKey(id),
    clientId: 'ops',
    scopes: ['status', 'admin'],
    ...fields,
  });
  const keys = [
    record('a', { tenantId: 'acme' }),
    record('b', { expiresAt: '2020-01-01T00:00:00.000Z' }),
    record('c', { notBefore: '2999-01-01T00:00:00.000Z' }),
  ];
  writeFileSync(file, JSON.stringify({ keys }));
  const listed = await says(`keys list --file ${file}`);
  assert.deepEqual(cellsOf(listed.stdout), [
    ['ID', 'CLIENT', 'SCOPES', 'TENANT', 'EXPIRES', 'STATE'],
    ['a', 'ops', 'status,admin', 'acme', 'never', 'active'],
    ['b', 'ops', 'status,admin', '-', '2020-01-01T00:00:00.000Z', 'expired'],
    ['c', 'ops', 'status,admin', '-', 'never', 'not yet valid'],
  ]);
  const json = await says(`keys list --file ${file} --json`, /"id": "c"[^}]*"state": "not yet valid"/);
  assert.equal(json.stdout.includes('sha256'), false);
});

test('keys revoke takes the key out; an unknown id changes nothing', async (t) => {
  const file = join(newFolder(t), 'keys.json');
  for (const client of ['one', 'two']) await create(file, `--client ${client} --scopes status`);
  const [first, second] = recordsOf(file);
  const unknown = { code: 1, err: /^rdcp: .*has no key with the ID key-nope\n$/ };
  await says(`keys revoke --file ${file} key-nope`, '', unknown);
  assert.equal(recordsOf(file).length, 2);
  await says(`keys revoke --file ${file} ${first.id}`);
  assert.deepEqual(recordsOf(file), [second]);
});

test('a file that is there keeps its mode, and a link stays a link', async (t) => {
  const directory = newFolder(t);
  const file = join(directory, 'real.json');
  const link = join(directory, 'keys.json');
  writeFileSync(file, '');
  chmodSync(file, 0o640);
  symlinkSync(file, link);
  await create(link, '--client ops --scopes status');
  assert.equal(statSync(file).mode & 0o777, 0o640);
  assert.equal(recordsOf(file).length, 1);
});

test('a broken keys file is reported and left unchanged', async (t) => {
  const file = join(newFolder(t), 'keys.json');
  writeFileSync(file, '{"keys":[{}]}');
  const line = creation(file, '--client ops --scopes status');
  const err = /^rdcp: RDCP_CONFIG_INVALID: keys file .*keys\.json: keys\.0\.id [^\n]+\n$/;
  await says(line, '', { code: 1, err });
  assert.equal(readFileSync(file, 'utf8'), '{"keys":[{}]}');

  writeFileSync(file, '{"keys":');
  await says(line, '', { code: 1, err: `rdcp: RDCP_CONFIG_INVALID: keys file ${file}: the file is not JSON\n` });
});
