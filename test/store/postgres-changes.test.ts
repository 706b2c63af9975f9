import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChangeFeed } from '../../src/store/lineage.ts';
import { createChanges } from '../../src/store/postgres/changes.ts';
import type { Row } from '../../src/store/postgres/connection.ts';
import { StoredValues } from '../../src/store/stored-values.ts';
import fc from '../support/fast-check.ts';

const START = 1;

/** What a read of everything newer than the start answers while the store is at a version. */
function rowOf(version: number): Row {
  const scope = version > START ? { key: 'acme', revision: String(version) } : { key: null, revision: null };
  return {
    history: 'h',
    newest: String(version),
    head: `head-${version}`,
    now: '0',
    ...scope,
    settings: '{"settings":[]}',
    changed_at: '0',
  };
}

/** Begins as many reads at once as there are versions, has them answered in that order, and returns the revisions that were passed on. */
async function passedOn(versions: readonly number[]): Promise<number[]> {
  const reads: PromiseWithResolvers<readonly Row[]>[] = [];
  const feed = new ChangeFeed('PostgreSQL');
  const changes = createChanges({
    feed,
    query: () => {
      const read = Promise.withResolvers<readonly Row[]>();
      reads.push(read);
      return read.promise;
    },
    schema: 'rdcp',
    stored: new StoredValues(),
    pollMs: 1000,
    aside: { column: 'NULL', values: () => [null, null], receive: () => {} },
  });
  const loading = changes.load();
  reads[0]?.resolve([rowOf(START)]);
  await new Promise(setImmediate);
  reads[1]?.resolve([]);
  await loading;
  const passed: number[] = [];
  // A subscription reads what changed since the load.
  feed.subscribe((_scope, { revision }) => passed.push(revision), changes.resync);
  const begun = versions.slice(1).map(() => changes.after());
  for (const [index, version] of versions.entries()) {
    reads[index + 2]?.resolve([rowOf(version)]);
    await new Promise(setImmediate);
  }
  await Promise.all(begun);
  changes.close();
  return passed;
}

describe('reads of the changes in PostgreSQL at the same time', () => {
  it('passes a change on that one read has and the one before had not', async () => {
    assert.deepEqual(await passedOn([1, 2]), [2]);
  });

  it('passes the newest change on, and none twice or after a newer one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: START, max: 4 }), { minLength: 1, maxLength: 5 }),
        async (versions) => {
          const passed = await passedOn(versions);
          assert.equal(passed.at(-1) ?? START, Math.max(...versions));
          assert.deepEqual(
            passed,
            [...new Set(passed)].sort((one, other) => one - other),
          );
        },
      ),
    );
  });
});
