import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timestamp } from '../../src/protocol/time.ts';
import type { AuditQuery } from '../../src/store/state-store.ts';
import { naive, readAll } from '../../src/store-contract/audit.ts';
import { storeContract } from '../../src/store-contract/contract.ts';
import type { StoreFixture } from '../../src/store-contract/suite.ts';
import fc from '../support/fast-check.ts';
import { appendAudit, auditEntry, NOW } from './samples.ts';

export type { StoreFixture } from '../../src/store-contract/suite.ts';

/** The contract of a store of this package. */
export function stateStoreContract(name: string, shared: boolean, create: () => Promise<StoreFixture>): void {
  describe(`${name} keeps the contract of a state store:`, () => {
    for (const { name, run } of storeContract(create, {
      shared,
      tokens: true,
      messages: shared,
      categories: shared,
    }))
      test(name, run);

    test('every filter, alone and combined, on every page, agrees with an array', async () => {
      const at = fc.integer({ min: -3, max: 3 }).map((minutes) => NOW + minutes * 60_000);
      const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
      const category = fc.constantFrom('A', 'B', 'X-C', 'AB');
      const client = fc.constantFrom('console', 'ci', 'con');
      const outcome = fc.constantFrom('success', 'partial', 'failed', 'denied' as const);
      const action = fc.constantFrom('enable', 'toggle', 'expire', 'authorize' as const);
      const tenant = fc.constantFrom('acme', 'acme.eu', '__proto__');
      const written = fc.array(
        fc.record({
          at,
          action,
          outcome,
          categories: fc.uniqueArray(category, { maxLength: 3 }),
          client: some(client),
          tenant: some(tenant),
        }),
        { maxLength: 25 },
      );
      const asked = fc.array(
        fc.record({
          limit: fc.integer({ min: 1, max: 8 }),
          since: some(at),
          until: some(at),
          action: some(action),
          category: some(category),
          client: some(client),
          outcome: some(outcome),
          tenant: some(tenant),
        }),
        { minLength: 1, maxLength: 8 },
      );
      await fc.assert(
        fc.asyncProperty(written, asked, async (records, queries) => {
          const own = await create();
          try {
            const target = await own.open();
            const entries = records.map((record) =>
              auditEntry({
                timestamp: timestamp(record.at),
                action: record.action,
                outcome: record.outcome,
                categories: record.categories,
                identity: record.client === undefined ? {} : { clientId: record.client },
                ...(record.tenant === undefined ? {} : { tenant: { id: record.tenant } }),
              }),
            );
            await appendAudit(target, entries);
            for (const query of queries) {
              const defined = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
              const read = await readAll(target, defined as unknown as AuditQuery);
              assert.deepEqual(read, naive(entries, defined as unknown as AuditQuery));
            }
          } finally {
            await own.dispose();
          }
        }),
        { numRuns: 20 },
      );
    });
  });
}
