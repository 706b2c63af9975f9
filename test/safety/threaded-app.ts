// An application with a worker thread. It follows what is switched in the main thread, unless it has an instrumentation
// of its own.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type RdcpConfig, RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const database = category('DATABASE');

if (isMainThread) {
  const [config] = process.argv.slice(2);
  const worker = new Worker(import.meta.filename, { workerData: config });
  const exited = once(worker, 'exit');
  const [url] = await once(worker, 'message');
  process.stdout.write(`ready ${url}\n`);
  await once(process, 'message');
  worker.postMessage('tell');
  const [enabledThere] = await once(worker, 'message');
  process.send?.({ here: database.enabled, there: enabledThere });
  const [code] = await exited;
  if (code !== 0) throw new Error(`the thread ended with ${code}`);
  process.disconnect();
} else {
  const config = workerData as string | undefined;
  const own = config === undefined ? undefined : new RdcpInstrumentation(JSON.parse(config) as RdcpConfig);
  parentPort?.postMessage((await own?.listen())?.url);
  await once(parentPort as NonNullable<typeof parentPort>, 'message');
  database.debug('in a thread');
  parentPort?.postMessage(database.enabled);
}
