import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tappedProcess } from './tapped.ts';

test('a tap gets the calls of a category that is off: built and redacted, without output and without being counted', () => {
  const { a, b, tap, counts } = tappedProcess();
  const { taken, remove } = tap();
  assert.deepEqual([a.enabled, b.enabled], [true, false]);
  a.debug('login', { user: 'alice', password: 'hunter2' });
  b.debug('not tapped', () => assert.fail('was built'));
  a.span('not a line', (span) => assert.equal(span, undefined));
  assert.deepEqual(
    taken.map(({ message, attributes }) => [message, attributes]),
    [['login', { user: 'alice', password: '[redacted]', 'rdcp.category.name': 'A' }]],
  );
  assert.deepEqual(counts(), [0, 0, 0]);
  remove();
  remove();
  assert.equal(a.enabled, false);
  a.debug('after', () => assert.fail('was built'));
});

test('a category that is on and tapped builds once, for the outputs and every tap', () => {
  const { a, attachment, tap, counts, lines } = tappedProcess();
  attachment.setBase(0, true);
  const taps = [tap(), tap({ most: 1 })];
  let built = 0;
  a.debug('one', () => ({ built: ++built }));
  a.debug('two', () => ({ built: ++built }));
  assert.deepEqual([built, ...taps.map(({ taken }) => taken.length)], [2, 2, 1]);
  assert.deepEqual(counts(), [2, 0, 2]);
  assert.match(lines[1]!, /two \{"built":2\}$/);
});

test('a tap gets what the budget drops, at its own rate, and nothing is built in vain', () => {
  const { a, attachment, tap, counts } = tappedProcess();
  attachment.setBase(0, true);
  const { taken } = tap({ most: 5 });
  let built = 0;
  for (let call = 0; call < 10; call++) a.debug('m', () => ({ built: ++built }));
  assert.deepEqual([built, taken.length], [5, 5]);
  assert.deepEqual(counts(), [10, 8, 2]);
});

test('a tap of one tenant gets the calls of that tenant alone, and enabled says so', () => {
  const { a, gate, tap, counts } = tappedProcess();
  const { taken } = tap({ tenant: 'acme' });
  for (const tenant of ['acme', 'beta']) {
    gate.runWithTenant(tenant, () => {
      assert.equal(a.enabled, tenant === 'acme');
      a.debug(tenant, tenant === 'acme' ? {} : () => assert.fail('was built'));
    });
  }
  assert.equal(a.enabled, false);
  assert.deepEqual(
    taken.map(({ message, tenantId }) => [message, tenantId]),
    [['acme', 'acme']],
  );
  assert.deepEqual(counts(), [0, 0, 0]);
});

test('a tap that throws, or debugs itself, harms neither the outputs nor other taps', () => {
  const { a, sink, attachment, tap, descriptor, counts } = tappedProcess();
  sink.addTap(descriptor, {
    matches: () => true,
    admits: () => true,
    take: () => {
      a.debug('from the tap');
      throw new Error('broken tap');
    },
  });
  const { taken } = tap();
  a.debug('off');
  assert.deepEqual([taken.length, ...counts()], [1, 0, 0, 0]);
  attachment.setBase(0, true);
  a.debug('on');
  assert.deepEqual([taken.length, ...counts()], [2, 2, 1, 1], 'the nested one is dropped');
});

test('a tap ends with its control plane, follows it when it is suspended, and is there for the next one', () => {
  const { a, gate, attachment, tap, controller } = tappedProcess();
  tap();
  attachment.suspend(true);
  assert.equal(a.enabled, false);
  attachment.suspend(false);
  assert.equal(a.enabled, true);
  attachment.detach();
  assert.equal(a.enabled, false);
  gate.attach(controller);
  assert.equal(a.enabled, true);
});
