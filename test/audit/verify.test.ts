import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { canonicalJson, headOf, seal, unsealed } from '../../src/trail/chain.ts';
import { createSigner, parsePublicKeys, type Signature } from '../../src/trail/signature.ts';
import { createVerifier } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { type Timestamp, timestamp } from '../../src/wire/time.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { chain, chainOf, DRAFT, NOW, verify } from './entries.ts';

const last = (entries: readonly AuditEntry[]) => entries.at(-1)?.compliance.hash ?? '';

test('the hash is that of the canonical JSON without it, which any tool can compute', () => {
  const [entry] = chain('a', 1);
  assert.ok(entry);
  const { hash, ...compliance } = entry.compliance;
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .sort()
              .map(([name, member]) => [name, sorted(member)]),
          )
        : value;
  const text = JSON.stringify(sorted({ ...entry, compliance }));
  assert.equal(createHash('sha256').update(text, 'utf8').digest('hex'), hash);
});

test('an entry says how long the one before it is retained if that is of another process, or may be gone in a day', () => {
  for (const [sequence, hours, says] of [
    [0, 1000, true],
    [3, 1000, false],
    [3, 24, false],
    [3, 23, true],
    [3, -1, true],
  ] as const) {
    const retainUntil = timestamp(NOW + hours * 3_600_000);
    const { compliance } = seal(unsealed(DRAFT, chainOf('a'), { id: '1', now: NOW }), {
      sequence,
      hash: '',
      retainUntil,
    });
    assert.equal(compliance.previousRetainUntil, says ? retainUntil : undefined, `${sequence}, ${hours} hours`);
  }
});

test('a checkpoint is retained as long as any entry before it, also after the clock was set back', () => {
  const [entry] = chain('a', 1) as [AuditEntry];
  const { retainUntil } = entry.compliance;
  const [march, september] = ['2026-03-01T00:00:00.000Z', '2026-09-01T00:00:00.000Z'] as const;
  const after = (before: Timestamp) => headOf(entry, { sequence: 0, hash: '', retainUntil: before }).retainUntil;
  assert.deepEqual([after(march), after(september)], [retainUntil, september]);
});

test('a change anywhere in an entry is found, at that entry', () => {
  const entries = chain('a', 5);
  const paths = [
    (entry: AuditEntry) => ({ ...entry, outcome: 'failed' as const }),
    (entry: AuditEntry) => ({ ...entry, reason: 'fast' }),
    (entry: AuditEntry) => ({ ...entry, identity: { ...entry.identity, userId: 'somebody' } }),
    (entry: AuditEntry) => ({ ...entry, changes: [] }),
    (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, sequence: 7 } }),
    (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, retainUntil: entry.timestamp } }),
    (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, hash: '0'.repeat(64) } }),
  ];
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.nat(4), (change, at) => {
      const fault = verify(entries.map((entry, index) => (index === at ? change(entry) : entry)));
      assert.equal(fault?.problem, 'hash');
      assert.equal(fault?.entry.id, entries[at]?.id);
    }),
  );
});

test('an entry that was taken out of the middle, or moved, is found at the one after it', () => {
  const entries = chain('a', 6);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), (at) => {
      const fault = verify(entries.toSpliced(at, 1));
      assert.equal(fault?.problem, 'sequence');
      assert.equal(fault?.entry.id, entries[at + 1]?.id);
    }),
  );
  const moved = verify([entries[1], entries[0], ...entries.slice(2)] as AuditEntry[]);
  assert.equal(moved?.problem, 'start');
});

test('an entry that was changed does not hide that those before it are missing', () => {
  const changed = chain('a', 5).map((entry, at) => (at === 3 || at === 2 ? { ...entry, reason: 'other' } : entry));
  for (const [missing, problem] of [
    [[1], 'sequence'],
    [[0, 1], 'start'],
  ] as const) {
    const fault = verify(changed.filter((_, at) => !(missing as readonly number[]).includes(at)));
    assert.deepEqual([fault?.problem, fault?.entry.id], [problem, 'a-3']);
  }
});

// Of each entry, oldest first, whether its signature is right, wrong, by an unknown key, or missing; and how many need none.
for (const [signatures, before, faulty] of [
  ['RRRR', 0, undefined],
  ['---R', 0, undefined],
  ['WUWR', 0, undefined],
  ['R---', 0, 4],
  ['RRRW', 0, 4],
  ['RRRU', 0, 4],
  ['--R-', 3, 4],
  ['---R', 3, undefined],
  ['----', 4, undefined],
  ['U--U', 4, undefined],
  ['W---', 4, 1],
  ['-W-R', 4, undefined],
] as const) {
  const what = faulty === undefined ? 'whole' : `faulty at entry ${faulty}`;
  test(`a chain signed ${signatures}, of which the first ${before} need no signature, is ${what}`, () => {
    const meanings = { R: 'right', W: 'wrong', U: 'unknown' } as const;
    const keys = { check: (_hash: string, { keyId }: Signature) => meanings[keyId as keyof typeof meanings] };
    const verifier = createVerifier({ keys, signedSince: NOW + before });
    for (const entry of chain('a', 4).toReversed()) {
      const keyId = signatures[entry.compliance.sequence - 1] as string;
      const signature = { keyId, value: '' };
      verifier.see({ ...entry, compliance: { ...entry.compliance, ...(keyId !== '-' && { signature }) } });
    }
    const { faults, first } = verifier.finish();
    assert.deepEqual([faults, first?.problem], faulty === undefined ? [0, undefined] : [1, 'signature']);
    assert.equal(first?.entry.compliance.sequence, faulty);
  });
}

test('an entry that was replaced by one sealed again is found by the link of the next', () => {
  const entries = chain('a', 4);
  const forged = chain('a', 2, 'f'.repeat(64))[1];
  assert.ok(forged);
  const fault = verify([entries[0], forged, ...entries.slice(2)] as AuditEntry[]);
  assert.deepEqual([fault?.problem, fault?.entry.id], ['link', forged.id]);
});

test('the end of a chain that was cut off is found where the next process began at it', () => {
  const a = chain('a', 5);
  const b = chain('b', 2, last(a));
  const fault = verify([...a.slice(0, 3), ...b]);
  assert.deepEqual([fault?.problem, fault?.entry.id], ['link', 'b-1']);
});

const PEM = { type: 'spki', format: 'pem' } as const;
const PKCS8 = { type: 'pkcs8', format: 'pem' } as const;
const ed25519 = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicText = ed25519.publicKey.export(PEM).toString();

test('a signature is right for its hash alone, and unknown for a key that is not given', () => {
  const signature = createSigner(ed25519.privateKey.export(PKCS8).toString(), 'key')('a1');
  const keys = parsePublicKeys(`# of today\n${publicText}`);
  assert.equal(keys?.check('a1', signature), 'right');
  assert.equal(keys?.check('a2', signature), 'wrong');
  assert.equal(keys?.check('a1', { ...signature, keyId: 'else' }), 'unknown');
});

test('a file that is no private Ed25519 key is refused without a word of it', () => {
  for (const text of ['secret words', other.privateKey.export(PKCS8).toString()]) {
    assert.throws(
      () => createSigner(text, 'k.pem'),
      (error) => isRdcpError(error) && /^k\.pem must hold an unencrypted Ed25519/.test(error.message),
    );
  }
});

test('public keys of another kind, broken ones and none at all are no keys', () => {
  const broken = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----';
  for (const text of ['', other.publicKey.export(PEM).toString(), `${publicText}${broken}`]) {
    assert.equal(parsePublicKeys(text), undefined);
  }
});

test('the example of RFC 8785, section 3.2.2', () => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  assert.equal(
    canonicalJson(JSON.parse(input)),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('the order of RFC 8785, section 3.2.3: UTF-16 code units, not code points', () => {
  const input = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  assert.equal(
    canonicalJson(input),
    [
      '{"\\r":"Carriage Return"',
      '"1":"One"',
      '"\u0080":"Control"',
      '"\u00f6":"Latin Small Letter O With Diaeresis"',
      '"\u20ac":"Euro Sign"',
      '"\ud83d\ude00":"Emoji: Grinning Face"',
      '"\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ].join(','),
  );
});

test('members without a value are left out, as JSON does', () => {
  assert.equal(canonicalJson({ b: undefined, a: [undefined, { c: undefined }] }), '{"a":[null,{}]}');
});

test('half a surrogate pair breaks nothing, and is not mistaken for another one', () => {
  assert.equal(canonicalJson({ '\ud800': '\udfff' }), String.raw`{"\ud800":"\udfff"}`);
  assert.notEqual(canonicalJson('\ud800'), canonicalJson('\ufffd'));
});

inBoth('the same value in another order of members has the same form, and parses back', () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([name, member]) => [name, shuffled(member)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const form = canonicalJson(value);
      assert.equal(canonicalJson(shuffled(value)), form);
      assert.deepEqual(JSON.parse(form), JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: runs(100) },
  );
});
