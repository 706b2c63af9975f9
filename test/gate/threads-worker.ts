// A worker thread that does what the test asks for.
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { category, runWithAttributes } from '../../src/api.ts';

const deeds = {
  enabled: (name: string) => category(name).enabled,
  emit: (name: string, times: number) => {
    const one = category(name);
    for (let i = 0; i < times; i++) one.debug('from a thread', { i });
  },
  work: (name: string, user: string) =>
    runWithAttributes({ 'user.id': user }, () => category(name).debug(`of ${user}`)),
  /** Never comes to its event loop meanwhile. Returns whether the category became what it waits for. */
  spin: (name: string, until: boolean) => {
    const one = category(name);
    parentPort?.postMessage('spinning');
    for (const end = performance.now() + 5000; performance.now() < end; ) if (one.enabled === until) return true;
    return false;
  },
  nested: async (name: string) => {
    const inner = new Worker(new URL(import.meta.url));
    const ask = async (...question: unknown[]) => {
      inner.postMessage(question);
      return (await once(inner, 'message'))[0].answer;
    };
    while (!(await ask('enabled', name)));
    const answer = await ask('emit', name, 3);
    await inner.terminate();
    return answer;
  },
};

/** Says nothing before the category is asked, so that nothing of the main thread's can have come by message. */
const { flag, name } = (workerData ?? {}) as { flag?: Int32Array; name?: string };
if (flag !== undefined) {
  Atomics.store(flag, 0, category(name as string).enabled ? 1 : 2);
  Atomics.notify(flag, 0);
}

parentPort?.on('message', async ([deed, ...values]: [keyof typeof deeds, ...unknown[]]) => {
  parentPort?.postMessage({ answer: await Reflect.apply(deeds[deed], undefined, values) });
});
