import { identityKey, type Principal } from '../../access/principal.ts';
import { type CategoryLoad, runForecast } from '../../calls/tail/forecasts.ts';
import { assertMayRead } from '../../control/allow.ts';
import { MAX_FORECAST_SECONDS } from '../../wire/constants.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { forecastRequestSchema } from '../../wire/stream-requests.ts';
import type { CategoryForecast, ForecastResponse } from '../../wire/streams.ts';
import { formatDuration } from '../../wire/time.ts';
import { validBody } from '../middleware/body.ts';
import type { RouteParts } from '../parts.ts';
import { type Handler, opening, required } from '../steps.ts';
import { StreamPlaces } from '../streams/event-stream.ts';
import { whileConnected } from '../streams/open-streams.ts';
import { metricAt } from './categories.ts';
import { MAX_CHOSEN } from './control.ts';
import { selectionText } from './tail.ts';
import { countsFor, tenantKnown } from './tenants.ts';

const SECONDS_A_DAY = 86_400;
const BYTES_IN_A_GIGABYTE = 1e9;

/** Most forecasts at a time: each slows down every call of its categories. */
const MAX_FORECASTS = { total: 8, perIdentity: 2 };

/** `POST /rdcp/v1/forecast`: what categories emit, or would emit if they were on. */
export function forecast(parts: RouteParts): Handler {
  const { plane, fleet, choosing, relay, streams, clock, delay, recordAccess } = parts;
  const places = new StreamPlaces({ name: 'forecasts', ...MAX_FORECASTS });
  return async (ctx) => {
    const { categories, duration: seconds, target, filter, when } = validBody(ctx, forecastRequestSchema);
    if (seconds > MAX_FORECAST_SECONDS) {
      const maximum = formatDuration(MAX_FORECAST_SECONDS);
      throw REFUSALS.malformed('duration', `must be at most ${MAX_FORECAST_SECONDS}s`, { maximum });
    }
    const { tenantId } = required(ctx, 'tenancy');
    const principal = required(ctx, 'principal');
    const { allow, method } = principal;
    const { match, instances } = target ?? {};
    const isChoice = (instances?.count ?? instances?.percent) !== undefined;
    if (allow) assertMayRead({ allow, method }, { action: 'forecast', categories, tenantId, seconds, match, filter });
    await fleet?.refresh(true);
    plane.assertKnown(categories);
    const selected = { categories, tenantId, ...target, filter, when };
    await relay.check(selected);
    const leave = places.take({ identity: identityKey(principal) });
    const answering = whileConnected(ctx, streams, async (signal) => {
      const reason = `for ${formatDuration(seconds)}${selectionText(selected)}`;
      await recordAccess(ctx, { action: 'forecast', categories, reason });
      ctx.state.extend?.(seconds * 1000);
      const processes = choosing.number(categories, instances);
      const result = await runForecast(relay, selected, { milliseconds: seconds * 1000, processes, delay, signal });
      const metric = metricAt(clock);
      const shownCategories = [...result.categories].map(([name, load]) => [name, shown(load, metric, principal)]);
      const body: ForecastResponse = {
        ...opening(ctx, clock),
        duration: formatDuration(seconds),
        instances: result.instances,
        ...(isChoice && { chosen: result.answeredBy.slice(0, MAX_CHOSEN) }),
        ...(tenantId !== undefined && tenantKnown(principal, tenantId, parts)),
        categories: Object.fromEntries(shownCategories),
      };
      return { body };
    });
    return answering.finally(leave);
  };
}

function shown(
  { callsPerSecond, bytesPerSecond, droppedPerSecond, counts }: CategoryLoad,
  metric: ReturnType<typeof metricAt>,
  principal: Principal,
): CategoryForecast {
  return {
    callsPerSecond: metric(callsPerSecond, 'per_second'),
    bytesPerSecond: metric(bytesPerSecond, 'per_second'),
    ...(callsPerSecond > 0 && { bytesPerCall: metric(bytesPerSecond / callsPerSecond, 'bytes') }),
    gigabytesPerDay: metric((bytesPerSecond * SECONDS_A_DAY) / BYTES_IN_A_GIGABYTE, 'gigabytes_per_day'),
    droppedByBudget: metric(droppedPerSecond, 'per_second'),
    ...(counts !== undefined && { counts: countsFor(principal, counts) }),
  };
}
