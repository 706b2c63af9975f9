import assert from 'node:assert/strict';
import { it } from 'node:test';
import { bundledComponents, knownAdvisories } from '../../.github/advisories.ts';
import { assertBuilt } from '../support/built.ts';

it('no bundled package has a known advisory', (t) => {
  assertBuilt();
  let found: string[];
  try {
    found = knownAdvisories(bundledComponents());
  } catch (error) {
    t.skip(`not checked: ${(error as Error).message}`);
    return;
  }
  assert.deepEqual(found, []);
});

it('a version with a known advisory is found', (t) => {
  let found: string[];
  try {
    found = knownAdvisories([{ name: 'lodash', version: '4.17.4' }]);
  } catch (error) {
    t.skip(`not checked: ${(error as Error).message}`);
    return;
  }
  assert.match(found.join('\n'), /^lodash 4\.17\.4 has a known advisory \(/);
});
