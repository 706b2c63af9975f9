import type { Clock } from '../../clock.ts';
import type { ControlPlane } from '../../control/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { MetricsResponse, MetricUnit, MetricValue, ProcessMetricName } from '../../protocol/messages.ts';
import { type Handler, required } from '../steps.ts';
import { measured, totals, visibleCalls } from './calls.ts';
import { opening, timestampNow } from './opening.ts';

interface Sources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly clock: Clock;
}

const UNITS: Readonly<Record<ProcessMetricName, MetricUnit>> = {
  callsTotal: 'count',
  callsPerSecond: 'per_second',
  cpuUsage: 'percent',
  memoryUsage: 'bytes',
  heapUsed: 'bytes',
  eventLoopDelay: 'milliseconds',
  temporaryControls: 'count',
};

/** `GET /rdcp/v1/metrics`: measurements, with their time. */
export function metrics({ plane, measurements, clock }: Sources): Handler {
  const metric = (value: number, unit: MetricUnit): MetricValue => ({
    value,
    unit,
    measured: true,
    timestamp: timestampNow(clock),
  });
  return (ctx) => {
    const tenancy = required(ctx, 'tenancy');
    const { scope } = tenancy;
    const visible = visibleCalls(tenancy, measurements);
    const categories = plane.view(scope).map(({ name, index }) => ({ name, calls: measured(index, visible) }));
    const { totalCalls, callsPerSecond } = totals(categories, ({ calls }) => calls);
    const values: Partial<Record<ProcessMetricName, number>> = {
      callsTotal: totalCalls,
      callsPerSecond,
      // The load of a shared process would reveal the activity of other tenants.
      ...(tenancy.callsOf === undefined && measurements.process()),
      temporaryControls: plane.temporaryControls(scope),
    };
    const body: MetricsResponse = {
      ...opening(ctx, clock),
      metrics: Object.fromEntries(
        Object.entries(values)
          .filter(([, value]) => Number.isFinite(value))
          .map(([name, value]) => [name, metric(value, UNITS[name as ProcessMetricName])]),
      ),
      categories: Object.fromEntries(
        categories.map(({ name, calls }) => [
          name,
          {
            callsTotal: metric(calls.callsTotal, UNITS.callsTotal),
            callsPerSecond: metric(calls.callsPerSecond, UNITS.callsPerSecond),
          },
        ]),
      ),
    };
    return { body };
  };
}
