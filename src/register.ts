import './ends-on-old-node.ts';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { handOn } from './handed-on.ts';
import { importedFile } from './register/imported-file.ts';

const SDK = '@opentelemetry/sdk-node';

// Loaded by `node --import opentelemetry-instrumentation-rdcp/register app.js`. Worker threads load it too, and adopt the
// libraries that they load, but only the main thread starts anything: a process has one port and one gate. Each loads its own
// part: all that the main thread needs would hold up the start of every thread by a tenth of a second.
const require = createRequire(import.meta.url);
const isCommonJs = (import.meta.resolve as unknown) === undefined;
if (!isCommonJs && process.features.require_module) {
  handOn((name) => require(copyOfSdk(name) ?? fileOf(name)));
}
require(`${isCommonJs ? './register' : './cjs/register'}/${isMainThread ? 'process' : 'thread'}.js`);

function fileOf(name: string): string {
  return fileURLToPath(import.meta.resolve(name));
}

/** The SDK depends on one version of its packages: npm installs ours, the newest, beside it, and both would be loaded. */
function copyOfSdk(name: string): string | undefined {
  try {
    return importedFile(name, fileOf(SDK));
  } catch {
    return undefined; // There is no SDK.
  }
}
