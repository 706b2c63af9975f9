// A worker thread that does what the test asks for.
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { category, runWithAttributes, runWithTenant } from '../../src/api.ts';
import { gate } from '../../src/gate/gate.ts';

const deeds = {
  enabled: (name: string, tenant?: string) =>
    tenant === undefined ? category(name).enabled : runWithTenant(tenant, () => category(name).enabled),
  register: (name: string, enabled: boolean) => category(name, { description: 'of a thread', enabled }).enabled,
  emit: (name: string, times: number, tenant?: string) => {
    const one = category(name);
    const all = () => {
      for (let i = 0; i < times; i++) one.debug('from a thread', { i });
    };
    if (tenant === undefined) all();
    else runWithTenant(tenant, all);
  },
  work: (name: string, user: string) =>
    runWithAttributes({ 'user.id': user }, () => category(name).debug(`of ${user}`)),
  odd: (name: string) => category(name).debug('odd', { fn: () => 1, fine: 'kept' } as never),
  throwing: (name: string) =>
    category(name).debug('odd', () => {
      throw new Error('no attributes today');
    }),
  /** Never comes to its event loop meanwhile. Returns whether the category became what it waits for. */
  spin: (name: string, until: boolean) => {
    const one = category(name);
    parentPort?.postMessage('spinning');
    for (const end = performance.now() + 5000; performance.now() < end; ) if (one.enabled === until) return true;
    return false;
  },
  own: (name: string) => {
    const attachment = gate.attach({
      sink: { emit: () => undefined, span: (_category, _name, fn) => fn() },
      maxCategories: 4096,
      registered: () => {},
      failed: () => {},
    });
    const before = category(name).enabled;
    attachment.setBase(gate.categories().find((one) => one.name === name)?.index ?? 0, true);
    const meanwhile = category(name).enabled;
    attachment.detach();
    return [before, meanwhile];
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
