import './ends-on-old-node.ts';
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Loaded by `node --import opentelemetry-instrumentation-rdcp/register app.js`. Worker threads load it too, and adopt the
// libraries that they load, but only the main thread starts anything: a process has one port and one gate. Each loads its own
// part: all that the main thread needs would hold up the start of every thread by a tenth of a second.
// Where Node cannot require ES modules (`--no-experimental-require-module`), an ES module loads the part of the CommonJS build.
const isCommonJs = import.meta.resolve === undefined;
const folder = isCommonJs || process.features.require_module ? './register' : './cjs/register';
createRequire(import.meta.url)(`${folder}/${isMainThread ? 'process' : 'thread'}.js`);
