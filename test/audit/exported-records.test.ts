import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addExported, auditRecord, type ExportedRecords, retainUntilOf } from '../../src/trail/log-record.ts';
import { chain } from './entries.ts';

function collect(value: unknown, service?: string): ExportedRecords {
  const records: ExportedRecords = { checkpoints: [], waiting: new Map() };
  addExported(value, records, service);
  return records;
}

const HEAD = [
  { key: 'rdcp.audit.chain.id', value: { stringValue: 'a' } },
  { key: 'rdcp.audit.sequence', value: { intValue: '7' } },
  { key: 'rdcp.audit.hash', value: { stringValue: 'f00d' } },
];

const otlp = (attributes: unknown, resource?: unknown) => ({
  resourceLogs: [{ resource, scopeLogs: [{ logRecords: [{ attributes }] }] }],
});

test('a checkpoint is found in OTLP, whose 64-bit integers are text', () => {
  assert.deepEqual(collect(otlp(HEAD)).checkpoints, [{ instanceId: 'a', sequence: 7, hash: 'f00d' }]);
});

test('with a service only what its resource says is of it', () => {
  const shop = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
  assert.equal(collect([otlp(HEAD, shop), otlp(HEAD)], 'shop').checkpoints.length, 1);
  assert.equal(collect(otlp(HEAD, shop), 'other').checkpoints.length, 0);
});

test('an attribute keeps its type, and one without a value has none', () => {
  const attributes = [
    { key: 'rdcp.audit.id', value: { stringValue: 'x' } },
    { key: 'flag', value: { boolValue: false } },
    { key: 'share', value: { doubleValue: 0.5 } },
    { key: 'list', value: { arrayValue: { values: [{ stringValue: 'A' }] } } },
    { key: 'nested', value: { kvlistValue: { values: [{ key: 'on', value: { boolValue: true } }] } } },
    { key: 'nothing', value: 'bare' },
  ];
  assert.deepEqual(collect(otlp(attributes)).waiting.get('x'), {
    'rdcp.audit.id': 'x',
    flag: false,
    share: 0.5,
    list: ['A'],
    nested: { on: true },
    nothing: undefined,
  });
});

test('what is no record is passed over', () => {
  const parts = HEAD.map((missing) => otlp(HEAD.filter((attribute) => attribute !== missing)));
  for (const value of [null, 'text', 7, {}, { attributes: 'none' }, { resourceLogs: {} }, [[null]], ...parts]) {
    assert.deepEqual(collect(value), { checkpoints: [], waiting: new Map() }, JSON.stringify(value));
  }
});

test('a retention that is no text counts as none', () => {
  assert.equal(retainUntilOf({ 'rdcp.audit.retain_until': 5 }), undefined);
  assert.equal(retainUntilOf({ 'rdcp.audit.retain_until': '2026-01-01T00:00:00.000Z' }), '2026-01-01T00:00:00.000Z');
});

test('the record of an entry has its budget and its tail as they are', () => {
  const [entry] = chain('a', 1);
  assert.ok(entry);
  const { attributes } = auditRecord({
    ...entry,
    otelrdcp_budget: { calls: 5 },
    otelrdcp_tail: { lines: 9 },
  } as never);
  assert.deepEqual([attributes['rdcp.audit.budget'], attributes['rdcp.audit.tail']], [{ calls: 5 }, { lines: 9 }]);
});
