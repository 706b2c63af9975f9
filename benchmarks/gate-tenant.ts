// A category that is on for some tenant, asked in the context of another: it has to read the async context, and should
// cost hardly more than that.
//
// Each candidate has a loop of its own with one call in it, as a debug point of an application is one call. The four
// copies that mitata's loop makes are more than V8's budget for inlining takes once the async context is read, and the
// figure would be of what it left out.

import { AsyncLocalStorage } from 'node:async_hooks';
import { do_not_optimize } from 'mitata';
import { type Candidate, internals, publish, ratio, type Surroundings, time, verdict } from './measurement.ts';

const { GateCore } = await internals();

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

const CALLS = 1024;
const BARE = 'bare AsyncLocalStorage.getStore()';

const inContextOf =
  (tenantId: string): Surroundings =>
  (run) =>
    gate.runWithTenant(tenantId, run);

const OTHERS = ['without overrides', 'with 10 overrides', 'with 999 overrides'];

const candidates: Candidate[] = [
  {
    name: BARE,
    within: (run) => storage.run({}, run),
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (storage.getStore() === undefined) n += 2;
      }
      do_not_optimize(n);
    },
  },
  {
    name: `.enabled, another tenant ${OTHERS[0]}`,
    within: inContextOf('other'),
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (category.enabled) n += 2;
      }
      do_not_optimize(n);
    },
  },
  {
    name: `.enabled, another tenant ${OTHERS[1]}`,
    within: inContextOf('ten'),
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (category.enabled) n += 2;
      }
      do_not_optimize(n);
    },
  },
  {
    name: `.enabled, another tenant ${OTHERS[2]}`,
    within: inContextOf('thousand'),
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (category.enabled) n += 2;
      }
      do_not_optimize(n);
    },
  },
  {
    name: '.enabled, the tenant it is on for',
    within: inContextOf('acme'),
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (category.enabled) n += 2;
      }
      do_not_optimize(n);
    },
  },
  {
    name: '.enabled, no tenant',
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (category.enabled) n += 2;
      }
      do_not_optimize(n);
    },
  },
  {
    name: 'rejected: Map by tenant, then Set by name, at each check',
    within: (run) => ids.run('ten', run),
    calls: CALLS,
    call: () => {
      let n = 0;
      for (let i = 0; i < CALLS; i++) {
        n++;
        if (byTenant.get(ids.getStore() ?? '')?.has('C500') === true) n += 2;
      }
      do_not_optimize(n);
    },
  },
];

const timings = await time(candidates);

publish({
  timings,
  verdicts: OTHERS.map((other) => {
    const measured = ratio(timings, `.enabled, another tenant ${other}`, BARE);
    return verdict(
      `on for some tenant, asked in another's context, ${other}`,
      '<= 1.5 of a bare getStore()',
      measured.toFixed(2),
      measured <= 1.5,
      measured,
    );
  }),
});
