import type { Clock, Delay } from '../../clock.ts';
import type { ControlPlane } from '../../control/types.ts';
import { RdcpError, unavailable } from '../../errors.ts';
import type { Fleet } from '../../fleet/types.ts';
import { MAX_FORECAST_SECONDS } from '../../protocol/constants.ts';
import { forecastRequestSchema } from '../../protocol/forecast-request.ts';
import type { MetricUnit, MetricValue } from '../../protocol/messages.ts';
import type { CategoryForecast, ForecastResponse } from '../../protocol/streams.ts';
import { formatDuration } from '../../protocol/time.ts';
import { type CategoryLoad, runForecast } from '../../tail/forecasts.ts';
import type { Relay } from '../../tail/relay.ts';
import type { RecordAccess } from '../access-audit.ts';
import { validBody } from '../middleware/body.ts';
import type { OpenStreams } from '../open-streams.ts';
import { type Handler, required } from '../steps.ts';
import { assertKnownHere } from './known-categories.ts';
import { type TenantSources, tenantKnown } from './known-tenants.ts';
import { opening, timestampNow } from './opening.ts';

interface Sources extends TenantSources {
  readonly plane: ControlPlane;
  readonly fleet?: Fleet | undefined;
  readonly relay: () => Promise<Relay>;
  readonly streams: OpenStreams;
  readonly recordAccess: RecordAccess;
  readonly clock: Clock;
  readonly delay: Delay;
}

const SECONDS_A_DAY = 86_400;
const BYTES_IN_A_GIGABYTE = 1e9;

/** `POST /rdcp/v1/forecast`: what categories emit, or would emit if they were on. */
export function forecast(sources: Sources): Handler {
  const { plane, fleet, relay, streams, recordAccess, clock, delay } = sources;
  return async (ctx) => {
    const { categories, duration: seconds } = validBody(ctx, forecastRequestSchema);
    if (seconds > MAX_FORECAST_SECONDS) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `duration must be at most ${MAX_FORECAST_SECONDS}s`, {
        details: { field: 'duration', maximum: formatDuration(MAX_FORECAST_SECONDS) },
      });
    }
    const { scope, tenantId } = required(ctx, 'tenancy');
    assertKnownHere(plane, scope, categories);
    const over = new AbortController();
    const left = () => over.abort();
    ctx.res.once('close', left);
    const remove = streams.add(() => over.abort(unavailable('The server is shutting down', undefined, 1)));
    try {
      const [running, summary] = await Promise.all([relay(), fleet?.summary()]);
      await recordAccess(ctx, { action: 'forecast', categories, reason: `for ${formatDuration(seconds)}` });
      ctx.state.extend?.(seconds * 1000);
      const result = await runForecast(
        running,
        { categories, tenantId },
        { milliseconds: seconds * 1000, processes: summary?.instances ?? 1, delay, signal: over.signal },
      );
      const metric = metricAt(clock);
      const body: ForecastResponse = {
        ...opening(ctx, clock),
        duration: formatDuration(seconds),
        instances: result.instances,
        ...(tenantId !== undefined && tenantKnown(required(ctx, 'principal'), tenantId, sources)),
        categories: Object.fromEntries([...result.categories].map(([name, load]) => [name, shown(load, metric)])),
      };
      return { body };
    } catch (error) {
      // Nobody reads the answer.
      if (ctx.res.destroyed) return { body: {} };
      throw error;
    } finally {
      ctx.res.off('close', left);
      remove();
    }
  };
}

type Metric = (value: number, unit: MetricUnit) => MetricValue;

function metricAt(clock: Clock): Metric {
  const timestamp = timestampNow(clock);
  return (value, unit) => ({ value, unit, measured: true, timestamp });
}

function shown({ callsPerSecond, bytesPerSecond, droppedPerSecond }: CategoryLoad, metric: Metric): CategoryForecast {
  return {
    callsPerSecond: metric(callsPerSecond, 'per_second'),
    bytesPerSecond: metric(bytesPerSecond, 'per_second'),
    ...(callsPerSecond > 0 && { bytesPerCall: metric(bytesPerSecond / callsPerSecond, 'bytes') }),
    gigabytesPerDay: metric((bytesPerSecond * SECONDS_A_DAY) / BYTES_IN_A_GIGABYTE, 'gigabytes_per_day'),
    droppedByBudget: metric(droppedPerSecond, 'per_second'),
  };
}
