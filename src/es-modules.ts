import * as api from '@opentelemetry/api';
import * as instrumentation from '@opentelemetry/instrumentation';
import { handOn } from './handed-on.ts';

// First import of the ES modules over the CommonJS.
const packages: Readonly<Record<string, unknown>> = {
  '@opentelemetry/api': api,
  '@opentelemetry/instrumentation': instrumentation,
};
handOn((name) => packages[name]);
