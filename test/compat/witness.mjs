import { appendFileSync } from 'node:fs';

// Writes at the end of each process how many categories its libraries added to those of Node.js: none without the package.
const gate = globalThis[Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1')];
const count = () => gate?.categories().length ?? 0;
const atStart = count();
process.on('exit', () => appendFileSync(process.env.COMPAT_CATEGORIES, `${count() - atStart}\n`));
