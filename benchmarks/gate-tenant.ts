// A category that is on for some tenant, asked in the context of another: it has to read the async context, and should
// cost hardly more than that.

import { AsyncLocalStorage } from 'node:async_hooks';
import { do_not_optimize } from 'mitata';
import { built, type Candidate, find, publish, type Surroundings, time, verdict } from './measurement.ts';

const { GateCore }: typeof import('../src/gate/core.ts') = await import(built('gate/core.js'));

const gate = new GateCore();
const category = Array.from({ length: 1024 }, (_, index) => gate.category(`C${index}`))[500]!;
const attachment = gate.attach({
  sink: { emit: () => undefined, span: (_category, _name, fn) => fn() },
  maxCategories: 4096,
  registered: () => undefined,
  failed: () => undefined,
});
attachment.setTenant('acme', 500, true);
for (let k = 0; k < 10; k++) attachment.setTenant('ten', k * 47, true);
for (let index = 0; index < 1000; index++) if (index !== 500) attachment.setTenant('thousand', index, index % 2 === 0);

const storage = new AsyncLocalStorage<object>();
const byTenant = new Map([
  ['acme', new Set(['C500'])],
  ['ten', new Set(Array.from({ length: 10 }, (_, k) => `C${k * 47}`))],
]);
const ids = new AsyncLocalStorage<string>();

const BARE = 'bare AsyncLocalStorage.getStore()';

const inContextOf =
  (tenantId: string): Surroundings =>
  (run) =>
    gate.runWithTenant(tenantId, run);

const OTHERS = ['without overrides', 'with 10 overrides', 'with 999 overrides'];

const candidates: Candidate[] = [
  { name: BARE, within: (run) => storage.run({}, run), call: () => do_not_optimize(storage.getStore()) },
  {
    name: `.enabled, another tenant ${OTHERS[0]}`,
    within: inContextOf('other'),
    call: () => do_not_optimize(category.enabled),
  },
  {
    name: `.enabled, another tenant ${OTHERS[1]}`,
    within: inContextOf('ten'),
    call: () => do_not_optimize(category.enabled),
  },
  {
    name: `.enabled, another tenant ${OTHERS[2]}`,
    within: inContextOf('thousand'),
    call: () => do_not_optimize(category.enabled),
  },
  {
    name: '.enabled, the tenant it is on for',
    within: inContextOf('acme'),
    call: () => do_not_optimize(category.enabled),
  },
  { name: '.enabled, no tenant', call: () => do_not_optimize(category.enabled) },
  {
    name: 'rejected: Map by tenant, then Set by name, at each check',
    within: (run) => ids.run('ten', run),
    call: () => do_not_optimize(byTenant.get(ids.getStore() ?? '')?.has('C500') === true),
  },
];

const timings = await time(candidates);

publish({
  timings,
  verdicts: OTHERS.map((other) => {
    const ratio = find(timings, `.enabled, another tenant ${other}`) / find(timings, BARE);
    return verdict(
      `on for some tenant, asked in another's context, ${other}`,
      '<= 1.3 of a bare getStore()',
      ratio.toFixed(2),
      ratio <= 1.3,
    );
  }),
});
