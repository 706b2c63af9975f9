import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IssuerFault, issuerProblem } from '../../src/auth/issuer-failure.ts';

test('a failed request to an issuer is described by its code, found where fetch or Node puts it', () => {
  const refused = Object.assign(new Error('connect 192.0.2.1'), { code: 'ECONNREFUSED' });
  assert.match(issuerProblem(new TypeError('fetch failed', { cause: refused })), /^cannot be reached.*ECONNREFUSED/);
  assert.match(issuerProblem(refused), /^cannot be reached.*ECONNREFUSED/);
  assert.match(issuerProblem('aborted'), /^cannot be reached/);
  assert.doesNotMatch(issuerProblem(refused), /192/);
});

test('a slow issuer and an invalid answer are described as such', () => {
  assert.equal(issuerProblem(new DOMException('late', 'TimeoutError')), 'does not answer in time');
  assert.equal(issuerProblem(new IssuerFault('answers no JSON')), 'answers no JSON');
});
