import './otel/loading/ends-on-old-node.ts';
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Loaded by `node --import opentelemetry-instrumentation-rdcp/register app.js`. Worker threads load it too, and adopt the
// libraries that they load, but only the main thread starts anything: a process has one port and one gate. Each loads its own
// part: the main thread's would delay the start of every thread by a tenth of a second. By `require`, because `import()` would
// need a top-level `await`, with which this file could not be required.
createRequire(import.meta.url)(isMainThread ? '#register/process' : '#register/thread');
