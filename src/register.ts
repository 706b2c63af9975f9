import './ends-on-old-node.ts';
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { takePm2Variables } from './register/pm2.ts';
import { startFromEnvironment } from './register/start.ts';

// Loaded by `node --import opentelemetry-instrumentation-rdcp/register app.js`. Worker threads load it too, but only the main
// thread starts anything: a process has one port and one gate.
if (isMainThread) {
  takePm2Variables(process.env);
  startFromEnvironment(process.env, (path) => readFileSync(path, 'utf8'));
}
