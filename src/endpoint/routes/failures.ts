import { type Failure, findFailures } from '../../calls/tail/failures.ts';
import { assertMayRead } from '../../control/allow.ts';
import { REDACTED } from '../../wire/credentials.ts';
import { matchesAny } from '../../wire/names.ts';
import { failuresRequestSchema } from '../../wire/stream-requests.ts';
import type { FailedWork, FailuresResponse } from '../../wire/streams.ts';
import { formatDuration, timestamp } from '../../wire/time.ts';
import { validBody } from '../middleware/body.ts';
import type { Uses } from '../parts.ts';
import { type Handler, opening, required } from '../steps.ts';
import { whileConnected } from '../streams/open-streams.ts';
import { assertRecorded, selectionText } from './tail.ts';

/** Most names of categories in an answer. */
const MAX_NAMES = 100;

type FailuresParts = Uses<
  'config' | 'plane' | 'fleet' | 'choosing' | 'relay' | 'streams' | 'clock' | 'delay' | 'recordAccess' | 'recorded'
>;

/** `POST /rdcp/v1/failures`: the newest work that failed or was slow, so far as it was recorded, of every process. */
export function failures(parts: FailuresParts): Handler | undefined {
  const { config, plane, fleet, choosing, relay, streams, clock, delay, recordAccess } = parts;
  if (config.tail === false) return undefined;
  return async (ctx) => {
    const given = validBody(ctx, failuresRequestSchema);
    const { since = Math.max(1, config.recorder.keepSeconds), target, when, limit } = given;
    const { tenantId, tenants, scope } = required(ctx, 'tenancy');
    const { allow, method } = required(ctx, 'principal');
    await fleet?.refresh(true);
    if (given.categories !== undefined) plane.assertKnown(given.categories);
    const all = plane.view(scope).map(({ name }) => name);
    const mine = allow === undefined ? all : all.filter((name) => matchesAny(allow.categories, name));
    const recorded = parts.recorded();
    const categories = given.categories ?? mine.filter((name) => recorded.get(name) !== false);
    if (allow !== undefined) {
      const { match } = target ?? {};
      assertMayRead({ allow, method }, { action: 'tail', categories, tenantId, seconds: 0, match, filter: undefined });
    }
    assertRecorded(parts, since, { categories, ...target });
    const selected = { categories, tenantId, tenants, ...target, when };
    await relay.check(selected);
    return whileConnected(ctx, streams, async (signal) => {
      const reason = `work that failed in the last ${formatDuration(since)}${selectionText({ ...selected, when: undefined })}`;
      await recordAccess(ctx, { action: 'tail', categories: categories.slice(0, MAX_NAMES), reason });
      const processes = choosing.number(categories, target?.instances);
      // Work without a line is shown to who may see everything.
      const all =
        given.categories === undefined && allow === undefined && tenantId === undefined && tenants === undefined;
      const found = await findFailures(relay, selected, { since, limit, all }, { processes, delay, signal });
      const body: FailuresResponse = {
        ...opening(ctx, clock),
        instances: found.instances,
        failures: found.failures.map((each) => shown(each, allow?.tail === 'redacted')),
        more: found.more,
        recorder: {
          ...(found.reach !== undefined && { reachesBack: formatDuration(Math.max(1, Math.round(found.reach))) }),
          categories: categories.filter((name) => recorded.get(name) === true).slice(0, MAX_NAMES),
        },
      };
      return { body };
    });
  };
}

/** @param redacted hides what a tail would: every value of an attribute, and with them what the work was */
function shown({ at, ...work }: Failure, redacted: boolean): FailedWork {
  const { attributes, outcome } = work;
  const hidden = Object.fromEntries(Object.keys(attributes).map((name) => [name, REDACTED]));
  return {
    ...work,
    timestamp: timestamp(at),
    outcome: redacted ? REDACTED : outcome,
    attributes: redacted ? hidden : attributes,
  };
}
