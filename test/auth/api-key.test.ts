import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { assertUsableSecret, generateApiKey, hashApiKey, inspectApiKey } from '../../src/access/api-key.ts';
import { RdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
const env = fc.stringMatching(/^[a-z0-9]{1,16}$/);
const key = fc.tuple(env, bytes).map(([name, random]) => generateApiKey({ env: name, randomBytes: () => random }));

test('a key has the published form, whatever the random bytes are', () => {
  fc.assert(
    fc.property(env, bytes, (name, random) => {
      const made = generateApiKey({ env: name, randomBytes: () => random });
      assert.match(made, new RegExp(`^rdcp_${name}_v1_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`));
      assert.deepEqual(inspectApiKey(made), { form: 'generated', env: name, version: 1 });
    }),
  );
});

test('the secret is the random number itself in base 62, so that no value is likelier than another', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  fc.assert(
    fc.property(bytes, (random) => {
      const secret = generateApiKey({ randomBytes: () => random }).slice('rdcp_live_v1_'.length, -6);
      const number = [...secret].reduce((sum, digit) => sum * 62n + BigInt(alphabet.indexOf(digit)), 0n);
      assert.equal(number, BigInt(`0x${Buffer.from(random).toString('hex')}`));
    }),
  );
});

test('the checksum is the one that any CRC-32 computes, and the length is that of every key', () => {
  assert.equal(
    generateApiKey({ env: 'test', randomBytes: () => new Uint8Array(32) }),
    'rdcp_test_v1_00000000000000000000000000000000000000000001Mc7Ib',
  );
  assert.equal(generateApiKey({ env: 'test', randomBytes: () => new Uint8Array(32).fill(255) }).length, 62);
});

test('a key asks for 32 random bytes', () => {
  let asked = 0;
  generateApiKey({
    randomBytes: (size) => {
      asked = size;
      return randomBytes(size);
    },
  });
  assert.equal(asked, 32);
});

inBoth('any single changed character is noticed', () => {
  fc.assert(
    fc.property(key, fc.nat(), fc.integer({ min: 0x21, max: 0x7e }), (made, at, code) => {
      const position = at % made.length;
      const changed = made.slice(0, position) + String.fromCharCode(code) + made.slice(position + 1);
      fc.pre(changed !== made);
      assert.notEqual(inspectApiKey(changed).form, 'generated');
    }),
    { numRuns: runs(2000) },
  );
});

test('a key that was cut short, or got something appended, is no generated key', () => {
  fc.assert(
    fc.property(key, fc.integer({ min: 1, max: 55 }), (made, missing) => {
      assert.notEqual(inspectApiKey(made.slice(0, -missing)).form, 'generated');
      assert.equal(inspectApiKey(`${made}\n`).form, 'foreign');
      assert.equal(inspectApiKey(` ${made}`).form, 'foreign');
    }),
  );
});

for (const name of ['', 'Live', 'a_b', 'a'.repeat(17), 'prod\n']) {
  test(`no key is made for the environment ${JSON.stringify(name)}`, () => {
    assert.throws(() => generateApiKey({ env: name, randomBytes }), RangeError);
  });
}

test('the hash is the SHA-256 of the bytes of the key', () => {
  assert.equal(hashApiKey('abc'), `sha256:${createHash('sha256').update('abc').digest('hex')}`);
});

test('a secret of the operator is refused by the name of its variable, never with its value', () => {
  const unusable = [
    'short-secret-of-31-characters..',
    `${'x'.repeat(40)} y`,
    `${'x'.repeat(40)}\n`,
    'é'.repeat(40),
    'x'.repeat(1025),
    generateApiKey({ randomBytes }).replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
  ];
  for (const secret of unusable) {
    assert.throws(
      () => assertUsableSecret(secret, 'RDCP_SERVER_API_KEY'),
      (error) =>
        error instanceof RdcpError &&
        error.code === 'RDCP_CONFIG_INVALID' &&
        error.message.startsWith('RDCP_SERVER_API_KEY ') &&
        !error.message.includes(secret) &&
        !error.message.includes('\n'),
    );
  }
});

test('a secret of 32 visible characters, or a generated key, is accepted', () => {
  for (const secret of ['x'.repeat(32), generateApiKey({ randomBytes })]) {
    assert.doesNotThrow(() => assertUsableSecret(secret, 'RDCP_SERVER_API_KEY'));
  }
});
