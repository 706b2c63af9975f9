// Workers of a cluster and a thread follow what is switched in the primary.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { service, until } from './service.ts';

const orders = category('ORDERS');
if (!isMainThread) {
  await until(() => orders.enabled);
  parentPort?.postMessage('on');
} else if (cluster.isWorker) {
  const { createRdcp } = await import('opentelemetry-instrumentation-rdcp');
  createRdcp({ server: false, announce: false });
  await until(() => orders.enabled);
  process.send?.('on');
} else {
  const { rdcp, client } = await service();
  const workers = [cluster.fork(), cluster.fork()];
  const thread = new Worker(new URL(import.meta.url));
  const on = [...workers, thread].map((each) => once(each, 'message'));
  await client.enable('ORDERS', { duration: '5m' });
  await Promise.all(on);
  for (const worker of workers) worker.kill();
  await thread.terminate();
  await rdcp.close();
}
