// A service of several processes. Which of them make a remote control of their own is its first argument; under register
// none has to. The test talks to the primary, which passes on what is for its workers and collects what they answer.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const { workers, remote, config, workersImport } = JSON.parse(process.argv[2] as string);
const orders = category('ORDERS', { description: 'in the test' });

if (remote === 'all' || (remote === 'workers' && cluster.isWorker)) {
  const { createRdcp } = await import('opentelemetry-instrumentation-rdcp');
  const rdcp = createRdcp(config);
  process.once('SIGTERM', () => void rdcp.close().then(() => process.exit(0)));
  const { url } = await rdcp.listen();
  if (cluster.isPrimary) process.stdout.write(`listening ${url}\n`);
  else process.send?.({ listening: url });
}

/** What a process of this service does when the test asks for it. */
const deeds: Record<string, (...values: number[]) => unknown> = {
  enabled: () => orders.enabled,
  emit: (times = 1) => {
    for (let i = 0; i < times; i++) orders.debug('order taken');
  },
};

interface Question {
  readonly deed: string;
  readonly values: number[];
}

if (cluster.isPrimary) {
  if (workersImport !== undefined) cluster.setupPrimary({ execArgv: ['--no-warnings', '--import', workersImport] });
  const forks = Array.from({ length: workers }, () => cluster.fork());
  const ask = async (worker: Worker, question: Question) => {
    const answer = heard(worker, 'answer');
    worker.send(question);
    return answer;
  };
  const actions: Record<string, (question: Question) => unknown> = {
    primary: ({ deed, values }) => deeds[deed]?.(...values),
    workers: (question) => Promise.all(living().map((worker) => ask(worker, question))),
    fork: () => ready(cluster.fork()),
    kill: async () => {
      const [worker] = living();
      worker?.process.kill('SIGKILL');
      if (worker !== undefined) await once(worker, 'exit');
    },
  };
  const living = () => Object.values(cluster.workers ?? {}) as Worker[];
  process.on('message', async ({ to, ...question }: Question & { to: string }) => {
    process.send?.({ answer: (await actions[to]?.(question)) ?? null });
  });
  process.on('disconnect', () => process.exit());
  await Promise.all(forks.map(ready));
  process.stdout.write(`ready\n`);
} else {
  process.on('message', ({ deed, values }: Question) => process.send?.({ answer: deeds[deed]?.(...values) ?? null }));
  process.send?.({ ready: true });
}

async function ready(worker: Worker): Promise<void> {
  void heard(worker, 'listening').then((url) => process.stdout.write(`listening ${url}\n`));
  await heard(worker, 'ready');
}

/** What a worker says of a subject, once it does. */
function heard(worker: Worker, subject: string): Promise<unknown> {
  return new Promise((resolve) => {
    const listener = (message: Record<string, unknown>) => {
      if (!(subject in message)) return;
      worker.off('message', listener);
      resolve(message[subject]);
    };
    worker.on('message', listener);
  });
}
