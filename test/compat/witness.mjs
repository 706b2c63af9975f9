import { appendFileSync } from 'node:fs';
// In both runs. Node.js loads its own undici for the first ES module that imports this, as OpenTelemetry's SDK does, and undici
// from npm then uses the dispatcher of that one.
import 'node:http';

// undici's connect timeout does nothing for a socket that was collected, and a test of it has one that nothing else holds: without
// this, whether it passes depends on how much is allocated beside it.
if (globalThis.gc) setInterval(globalThis.gc, 200).unref();

// Writes at the end of each process how many categories its libraries added to those of Node.js: none without the package.
const gate = globalThis[Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1')];
const count = () => gate?.categories().length ?? 0;
const atStart = count();
process.on('exit', () => appendFileSync(process.env.COMPAT_CATEGORIES, `${count() - atStart}\n`));
