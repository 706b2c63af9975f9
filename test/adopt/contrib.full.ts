import { test } from 'node:test';
import { besideContrib } from './contrib-cases.ts';

for (const library of ['pino', 'winston'] as const) {
  for (const order of ['before', 'after'] as const) {
    test(`${library}, adopted ${order} OpenTelemetry's instrumentation of it starts`, (t) =>
      besideContrib(t, library, order));
  }
}
