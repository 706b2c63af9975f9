import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createTelemetry, type Telemetry } from '../../src/otel/telemetry.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { hashOf } from '../../src/trail/chain.ts';
import { createSigner, type Signer } from '../../src/trail/signature.ts';
import { createAuditTrail } from '../../src/trail/trail.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { chainOf, DRAFT } from '../audit/entries.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { rdcp, temporaryDirectory } from './run.ts';

const UNHEARD: Pick<Telemetry, 'logger'> = { logger: { emit: () => undefined } };

interface Setup {
  readonly telemetry?: Pick<Telemetry, 'logger'>;
  readonly sign?: Signer;
}

/** Three processes, one after the other, that wrote three entries each; oldest first. */
async function threeProcesses({ telemetry = UNHEARD, sign }: Setup = {}): Promise<AuditEntry[]> {
  const store = createMemoryStore();
  const { clock, schedule } = virtualTime();
  for (const instanceId of ['a', 'b', 'c']) {
    let ids = 0;
    const trail = createAuditTrail({
      store,
      telemetry,
      clock,
      schedule,
      chain: chainOf(instanceId),
      randomUUID: () => `${instanceId}-${++ids}`,
      sign,
      report: (error) => assert.fail(String(error)),
    });
    // One waits for the store, and is exported before it has a place in the chain.
    trail.defer({ draft: { ...DRAFT, requestId: 'waited' } });
    for (let index = 0; index < 2; index += 1) await trail.record(DRAFT);
    await trail.close();
  }
  return (await store.queryAudit({ limit: 100 })).entries.toReversed();
}

async function verifyFile(t: TestContext, entries: readonly AuditEntry[], ...options: string[]) {
  const file = join(temporaryDirectory(t), 'state.db');
  const store = createSqliteStore(file);
  for (const audit of entries) await store.commit({ audit, now: 0 });
  await store.close();
  return rdcp(['audit', 'verify', '--store', `sqlite:${file}`, ...options]);
}

/** A chain resealed from an entry on, as write access to the store allows. */
function sealedAnew(entries: readonly AuditEntry[], from: AuditEntry): AuditEntry[] {
  const { instanceId, sequence } = from.compliance;
  let { previousHash } = from.compliance;
  return entries.map((entry) => {
    if (entry.compliance.instanceId !== instanceId || entry.compliance.sequence < sequence) return entry;
    const changed = { ...entry, reason: 'nothing happened', compliance: { ...entry.compliance, previousHash } };
    previousHash = hashOf(changed);
    return { ...changed, compliance: { ...changed.compliance, hash: previousHash } };
  });
}

const of = (entries: readonly AuditEntry[], instanceId: string) =>
  entries.filter(({ compliance }) => compliance.instanceId === instanceId);

/** A receiver of OTLP that keeps each request as a line, as the OpenTelemetry Collector's file exporter does. */
async function receiveInto(t: TestContext, file: string): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    appendFileSync(file, `${body}\n`);
    response.setHeader('Content-Type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}

test('records that an OTLP exporter sent show what was cut off, resealed or removed as a whole', async (t) => {
  const file = join(temporaryDirectory(t), 'logs.jsonl');
  Object.assign(process.env, {
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: await receiveInto(t, file),
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_TRACES_EXPORTER: 'none',
    OTEL_METRICS_EXPORTER: 'none',
  });
  const sdk = new NodeSDK();
  sdk.start();
  const { logger } = createTelemetry();
  const entries = await threeProcesses({ telemetry: { logger } });
  await sdk.shutdown();
  assert.match(readFileSync(file, 'utf8'), /^\{"resourceLogs":/);

  const options = ['--records', file, '--service', 'shop'];
  const whole = await verifyFile(t, entries, ...options);
  assert.deepEqual([whole.code, whole.stdout], [0, 'The trail is whole: 9 entries of 3 processes.\n']);
  assert.match(whole.stderr, /after its last checkpoint or record/);

  const cut = await verifyFile(t, entries.slice(0, -1), ...options);
  assert.match(cut.stdout, /Deleted: entries of process c after entry 2; it had written up to entry 3\.\n/);
  const gone = await verifyFile(t, entries.slice(0, -3), ...options);
  assert.match(gone.stdout, /Deleted: all entries of process c; it had written up to entry 3\.\n/);
  assert.match(gone.stdout, /Missing: entry c-1; its log record was exported before the entry was stored\.\n/);
  const [waited, , last] = of(entries, 'c') as [AuditEntry, AuditEntry, AuditEntry];
  const resealed = await verifyFile(t, sealedAnew(entries, last), ...options);
  assert.match(resealed.stdout, /entry 3 of process c .*: it does not match its checkpoint/);
  const early = await verifyFile(t, sealedAnew(entries, waited), ...options);
  assert.match(early.stdout, /First fault: entry 1 of process c .*: it differs from its exported log record/);
  assert.deepEqual(
    [cut, gone, resealed, early].map(({ code }) => code),
    [1, 1, 1, 1],
  );
  const others = await verifyFile(t, entries.slice(0, -1), '--records', file, '--service', 'other');
  assert.equal(others.code, 0, 'records of other services tell of other trails');
  assert.match(others.stderr, /--records: .* has no log record of the trail of service other: nothing was compared\n/);
});

test('records as the package makes them are read as JSON lines and as one document, and nonsense is refused', async (t) => {
  const directory = temporaryDirectory(t);
  const records: unknown[] = [];
  const entries = await threeProcesses({ telemetry: { logger: { emit: (record) => void records.push(record) } } });
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const lines = records.map((record) => JSON.stringify(record)).join('\n');
  const files = {
    lines: write('lines', lines),
    torn: write('torn', `${lines}\n{"attributes":{"rdcp.aud`),
    document: write('document', JSON.stringify(records, undefined, 2)),
  };
  for (const file of Object.values(files)) {
    const { code, stdout } = await verifyFile(t, entries.slice(0, -1), '--records', file);
    assert.equal(code, 1, file);
    assert.match(stdout, /Deleted: .* of process c.*; it had written up to entry 3/);
  }
  const bad = write('bad', `${lines}\nnonsense\n{}\n`);
  for (const [args, message] of [
    [['--records', bad], /--records: line \d+ of .*bad is not JSON\n/],
    [['--records', join(directory, 'nothere')], /--records: .*nothere does not exist\n/],
    [['--service', 'shop'], /--service needs --records\n/],
    [['--public-key', bad], /--public-key: .*bad must hold Ed25519 public keys \(PEM\)\n/],
    [['--signed-since', '2026-01-01T00:00:00.000Z'], /--signed-since needs --public-key\n/],
  ] as const) {
    const { code, stderr } = await rdcp(['audit', 'verify', ...args]);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});

const pair = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
};

test('write access to the store does not suffice to forge a signed trail', async (t) => {
  const [today, before, foreign] = [pair(), pair(), pair()];
  const file = join(temporaryDirectory(t), 'audit.pub');
  writeFileSync(file, before.publicKey + today.publicKey);
  const options = ['--public-key', file];
  const entries = await threeProcesses({ sign: createSigner(today.privateKey, 'key') });
  const whole = await verifyFile(t, entries, ...options);
  assert.deepEqual([whole.code, whole.stdout], [0, 'The trail is whole: 9 entries of 3 processes.\n']);
  const replaced = await threeProcesses({ sign: createSigner(before.privateKey, 'key') });
  assert.equal((await verifyFile(t, replaced, ...options)).code, 0, 'a key that was replaced is accepted too');

  const [first, , last] = of(entries, 'c') as [AuditEntry, AuditEntry, AuditEntry];
  const stripped = entries.map(({ compliance: { signature: _, ...compliance }, ...entry }) => ({
    ...entry,
    compliance,
  }));
  const forger = createSigner(foreign.privateKey, 'key');
  const forged = sealedAnew(entries, first).map((entry) => {
    const { hash, instanceId } = entry.compliance;
    return instanceId === 'c' ? { ...entry, compliance: { ...entry.compliance, signature: forger(hash) } } : entry;
  });
  for (const [changed, fault] of [
    [sealedAnew(entries, last), /entry 3 of process c .*: its signature is wrong/],
    [stripped, /entry 3 of process a .*: neither it nor a later entry of its process is signed\.\n3 faults/],
    [forged, /entry 3 of process c .*: it is signed with an unknown key/],
  ] as const) {
    const { code, stdout } = await verifyFile(t, changed, ...options);
    assert.equal(code, 1);
    assert.match(stdout, fault);
  }
  const since = ['--signed-since', '2026-02-01T00:00:00.000Z'];
  assert.equal((await verifyFile(t, stripped, ...options, ...since)).code, 0, 'what is older needs no signature');
});

test('a signing key that others may read, or that is no Ed25519 key, stops the start', async (t) => {
  const file = join(temporaryDirectory(t), 'audit.pem');
  const start = () => createRdcp({ server: false, audit: { signingKeyFile: file } });
  const refused = (message: RegExp) => assert.throws(start, { code: 'RDCP_CONFIG_INVALID', message });
  refused(/audit\.signingKeyFile: audit\.pem cannot be read \(ENOENT\)$/);
  writeFileSync(file, pair().privateKey, { mode: 0o600 });
  await start().close();
  chmodSync(file, 0o640);
  refused(/audit\.signingKeyFile: audit\.pem may be read by others: its mode must be 0600 or 0400$/);
  chmodSync(file, 0o600);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  refused(/audit\.signingKeyFile: audit\.pem must hold an unencrypted Ed25519 private key \(PKCS #8, PEM\)$/);
});
