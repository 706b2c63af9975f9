// Whether a category that is off stays as cheap among 4,096 of them, and beside 10,000 tenants with overrides of
// others. The ratios are of whole loops: the check alone is a fraction of a nanosecond, and a ratio of two such
// differences would be noise. The category is the first in each gate, so that the number alone differs; one far behind
// is measured as well, because its word is addressed by a longer instruction, which shows at this scale.

import { do_not_optimize } from 'mitata';
import { type Candidate, internals, publish, ratio, time, verdict } from './measurement.ts';

const { GateCore } = await internals();

function createGate(categories: number) {
  const gate = new GateCore();
  const handles = Array.from({ length: categories }, (_, index) => gate.category(`C${index}`));
  const attachment = gate.attach({
    sink: { emit: () => undefined, span: (_category, _name, fn) => fn() },
    maxCategories: 4096,
    registered: () => undefined,
    failed: () => undefined,
  });
  return { attachment, category: handles[0]!, last: handles.at(-1)! };
}

const lone = createGate(1).category;
const { category: among, last } = createGate(4096);
const { attachment, category: beside } = createGate(1024);
for (let tenant = 0; tenant < 10_000; tenant++) {
  for (let k = 0; k < 4; k++) attachment.setTenant(`tenant-${tenant}`, 1 + ((tenant * 7 + k * 101) % 1023), true);
}

const candidates: Candidate[] = [
  { name: 'lone .enabled', call: () => do_not_optimize(lone.enabled) },
  { name: 'among 4,096 categories .enabled', call: () => do_not_optimize(among.enabled) },
  { name: 'beside 10,000 tenants .enabled', call: () => do_not_optimize(beside.enabled) },
  { name: 'lone .debug', call: () => lone.debug('m', { a: 1 }) },
  { name: 'among 4,096 categories .debug', call: () => among.debug('m', { a: 1 }) },
  { name: 'the last of 4,096 categories .debug', call: () => last.debug('m', { a: 1 }) },
  { name: 'beside 10,000 tenants .debug', call: () => beside.debug('m', { a: 1 }) },
];

const timings = await time(candidates);

publish({
  timings,
  verdicts: ['among 4,096 categories', 'beside 10,000 tenants'].flatMap((where) =>
    ['.enabled', '.debug'].map((call) => {
      const measured = ratio(timings, `${where} ${call}`, `lone ${call}`);
      return verdict(
        `off, ${where}: ${call}`,
        '<= 1.2 of the lone category',
        measured.toFixed(2),
        measured <= 1.2,
        measured,
      );
    }),
  ),
});
