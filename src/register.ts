import './ends-on-old-node.ts';
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { takePm2Variables } from './register/pm2.ts';
import { startFromEnvironment } from './register/start.ts';
import { adoptInThread } from './register/thread.ts';

const readFile = (path: string) => readFileSync(path, 'utf8');

// Loaded by `node --import opentelemetry-instrumentation-rdcp/register app.js`. Worker threads load it too, and adopt the
// libraries that they load, but only the main thread starts anything: a process has one port and one gate.
if (isMainThread) {
  takePm2Variables(process.env);
  startFromEnvironment(process.env, readFile);
} else adoptInThread(process.env, readFile);
