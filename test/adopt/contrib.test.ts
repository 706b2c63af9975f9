import { test } from 'node:test';
import { besideContrib } from './contrib-cases.ts';

test("beside OpenTelemetry's instrumentation of pino no line comes out twice, and what passes becomes its record", (t) =>
  besideContrib(t, 'pino', 'before'));
