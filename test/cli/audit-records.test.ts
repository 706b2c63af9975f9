import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { createTelemetry, type Telemetry } from '../../src/otel/telemetry.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createSigner, type Signer } from '../../src/trail/signature.ts';
import { createAuditTrail } from '../../src/trail/trail.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { chainOf, DRAFT } from '../audit/entries.ts';
import { newFolder } from '../support/folder.ts';
import { serve } from '../support/serve.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { rdcp } from './run.ts';
import { assertFault, assertWhole, resealed } from './stored-trail.ts';

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

/** A receiver of OTLP that keeps each request as a line, as the OpenTelemetry Collector's file exporter does. */
const receiveInto = (t: TestContext, file: string) =>
  serve(t, async (request, response) => {
    appendFileSync(file, `${await text(request)}\n`);
    response.setHeader('Content-Type', 'application/json').end('{}');
  });

test('records that an OTLP exporter sent show what was cut off, resealed or removed as a whole', async (t) => {
  const file = join(newFolder(t), 'logs.jsonl');
  Object.assign(process.env, {
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: (await receiveInto(t, file)).url,
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
  const whole = await assertWhole(t, entries, options);
  assert.equal(whole.stdout, 'The trail is whole: 9 entries of 3 processes.\n');
  assert.match(whole.stderr, /after its last checkpoint or record/);
  const deleted = /Deleted: entries of process c after entry 2; it had written up to entry 3\.\n/;
  await assertFault(t, entries.slice(0, -1), deleted, options);
  const gone = [
    /Deleted: all entries of process c; it had written up to entry 3\.\n/,
    /Missing: entry c-1; its log record was exported before the entry was stored\.\n/,
  ];
  await assertFault(t, entries.slice(0, -3), gone, options);
  const rewritten = /entry 3 of process c .*: it does not match its checkpoint/;
  await assertFault(t, resealed(entries, 'c', 3), rewritten, options);
  const early = /First fault: entry 1 of process c .*: it differs from its exported log record/;
  await assertFault(t, resealed(entries, 'c', 1), early, options);
  // Records of other services tell of other trails.
  const { stderr } = await assertWhole(t, entries.slice(0, -1), ['--records', file, '--service', 'other']);
  assert.match(stderr, /--records: .* has no log record of the trail of service other: nothing was compared\n/);
});

test('records as the package makes them are read as JSON lines and as one document, and nonsense is refused', async (t) => {
  const directory = newFolder(t);
  const records: unknown[] = [];
  const entries = await threeProcesses({ telemetry: { logger: { emit: (record) => void records.push(record) } } });
  const write = (name: string, content: string) => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const lines = records.map((record) => JSON.stringify(record)).join('\n');
  const files = {
    lines: write('lines', lines),
    torn: write('torn', `${lines}\n{"attributes":{"rdcp.aud`),
    document: write('document', JSON.stringify(records, undefined, 2)),
  };
  for (const file of Object.values(files)) {
    const deleted = /Deleted: .* of process c.*; it had written up to entry 3/;
    await assertFault(t, entries.slice(0, -1), deleted, ['--records', file]);
  }
  const bad = write('bad', `${lines}\nnonsense\n{}\n`);
  for (const [args, message] of [
    [['--records', bad], /--records: line \d+ of .*bad is not JSON\n/],
    [['--public-key', bad], /--public-key: .*bad must hold Ed25519 public keys \(PEM\)\n/],
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
  const file = join(newFolder(t), 'audit.pub');
  writeFileSync(file, before.publicKey + today.publicKey);
  const options = ['--public-key', file];
  const entries = await threeProcesses({ sign: createSigner(today.privateKey, 'key') });
  const { stdout } = await assertWhole(t, entries, options);
  assert.equal(stdout, 'The trail is whole: 9 entries of 3 processes.\n');
  // A key that was replaced is accepted too.
  await assertWhole(t, await threeProcesses({ sign: createSigner(before.privateKey, 'key') }), options);

  const stripped = entries.map(({ compliance: { signature: _, ...compliance }, ...entry }) => ({
    ...entry,
    compliance,
  }));
  const forger = createSigner(foreign.privateKey, 'key');
  const forged = resealed(entries, 'c', 1).map((entry) => {
    const { hash, instanceId } = entry.compliance;
    return instanceId === 'c' ? { ...entry, compliance: { ...entry.compliance, signature: forger(hash) } } : entry;
  });
  for (const [changed, fault] of [
    [resealed(entries, 'c', 3), /entry 3 of process c .*: its signature is wrong/],
    [stripped, /entry 3 of process a .*: neither it nor a later entry of its process is signed\.\n3 faults/],
    [forged, /entry 3 of process c .*: it is signed with an unknown key/],
  ] as const) {
    await assertFault(t, changed, fault, options);
  }
  // What is older needs no signature.
  await assertWhole(t, stripped, [...options, '--signed-since', '2026-02-01T00:00:00.000Z']);
});

test('a signing key that others may read, or that is no Ed25519 key, stops the start', async (t) => {
  const file = join(newFolder(t), 'audit.pem');
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
