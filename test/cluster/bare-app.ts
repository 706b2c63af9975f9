// A cluster whose primary imports no code of the application: its workers have a category, and another one in a worker
// thread. Its parent gets what the gates of the workers say.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

if (!isMainThread) {
  const { category } = await import('opentelemetry-instrumentation-rdcp/api');
  const threaded = category('THREADED', { description: 'in a thread of a worker' });
  setInterval(() => threaded.debug('from a thread'), 20);
  parentPort?.on('message', () => parentPort?.postMessage(threaded.enabled));
} else if (cluster.isPrimary) {
  cluster.fork();
  cluster.fork();
  process.on('message', async () => {
    const answers = Object.values(cluster.workers ?? {}).map(async (worker) => {
      worker?.send('enabled');
      return worker && (await once(worker, 'message'))[0];
    });
    process.send?.(await Promise.all(answers));
  });
  process.on('disconnect', () => process.exit());
} else {
  const { category } = await import('opentelemetry-instrumentation-rdcp/api');
  const orders = category('ORDERS', { description: 'in a worker' });
  const thread = new Worker(new URL(import.meta.url));
  setInterval(() => orders.debug('order taken'), 20);
  process.on('message', async () => {
    thread.postMessage('enabled');
    const [threaded] = await once(thread, 'message');
    process.send?.([orders.enabled, threaded]);
  });
}
