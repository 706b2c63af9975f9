import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { GateCore } from '../../src/gate/core.ts';
import type { Attachment } from '../../src/gate/types.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { RecordingController } from './controllers.ts';

/** The gate as one would write it without a thought for speed. */
interface Plane {
  readonly attachment: Attachment;
  readonly base: Map<number, boolean>;
  readonly tenants: Map<string, boolean>;
  suspended: boolean;
  attached: boolean;
}

const TENANTS = ['acme', 'other', 'third'];

const index = fc.constantFrom(0, 31, 32);
const plane = fc.nat({ max: 3 });
const command = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('base' as const), plane, index, on: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('tenant' as const),
      plane,
      index,
      on: fc.option(fc.boolean(), { nil: undefined }),
      tenant: fc.constantFrom(...TENANTS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('suspend' as const), plane, on: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('attach' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('detach' as const), plane }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('register' as const) }) },
);

inBoth(
  'whatever is switched in whatever order, every category is what a naive model says, in and out of tenants',
  () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const gate = new GateCore();
        const handles = Array.from({ length: 33 }, (_, at) => gate.category(`C${at}`));
        const planes: Plane[] = [];

        function expected(at: number, tenant: string | undefined): boolean {
          const active = planes.findLast(({ attached }) => attached);
          if (active === undefined || active.suspended) return false;
          return active.tenants.get(`${tenant} ${at}`) ?? active.base.get(at) ?? false;
        }

        function check(tenant: string | undefined): void {
          const found = handles.map((handle) => handle.enabled);
          assert.deepEqual(
            found,
            handles.map((_, at) => expected(at, tenant)),
            `tenant ${tenant}`,
          );
        }

        // The contexts live as long as the whole sequence, as a long request's does.
        const contexts = TENANTS.map((tenant) => ({
          tenant,
          enter: gate.runWithTenant(tenant, () => AsyncLocalStorage.snapshot()),
        }));
        for (const step of commands) {
          run(step);
          check(undefined);
          for (const { tenant, enter } of contexts) enter(() => check(tenant));
          for (const tenant of TENANTS) gate.runWithTenant(tenant, () => check(tenant));
        }

        function run(step: typeof command extends fc.Arbitrary<infer Step> ? Step : never): void {
          if (step.do === 'attach') {
            const attachment = gate.attach(new RecordingController());
            planes.push({ attachment, base: new Map(), tenants: new Map(), suspended: false, attached: true });
            return;
          }
          if (step.do === 'register') {
            handles.push(gate.category(`C${handles.length}`));
            return;
          }
          const target = planes[step.plane % Math.max(planes.length, 1)];
          if (target === undefined) return;
          if (step.do === 'detach') {
            target.attachment.detach();
            target.attached = false;
          } else if (step.do === 'suspend') {
            target.attachment.suspend(step.on);
            target.suspended = step.on;
          } else if (step.do === 'base') {
            target.attachment.setBase(step.index, step.on);
            target.base.set(step.index, step.on);
          } else {
            target.attachment.setTenant(step.tenant, step.index, step.on);
            const key = `${step.tenant} ${step.index}`;
            if (step.on === undefined) target.tenants.delete(key);
            else target.tenants.set(key, step.on);
          }
        }
      }),
      { numRuns: runs(1000) },
    );
  },
);
