import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

/** Requests at a time: a busy machine answers fewer a second, instead of more and more later. */
const AT_A_TIME = 50;
const SKUS = ['tea', 'mint', 'kettle', 'cups'];

export interface Traffic {
  readonly perSecond: number;
  /** Waits for the answers that are still to come. Returns how many requests were answered, and in which time. */
  stop(): Promise<string>;
}

/** Other people's requests, among which one is to be found. */
export function startTraffic(url: string, perSecond: number): Traffic {
  // Closes idle connections before the server does.
  const agent = new Agent({ keepAlive: true, timeout: 2000 });
  const running = new Set<Promise<void>>();
  const startedAt = performance.now();
  let sent = 0;
  let answered = 0;

  async function ask(sku: string | undefined): Promise<void> {
    const [response] = (await once(get(`${url}/orders/${sku}`, { agent }), 'response')) as [IncomingMessage];
    await response.resume().toArray();
    if (response.statusCode === 200) answered += 1;
  }

  const timer = setInterval(() => {
    // As many as are due by now: a timer may be late.
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    while (sent < due && running.size < AT_A_TIME) {
      const request = ask(SKUS[sent % SKUS.length])
        .catch((error) => console.error(String(error)))
        .finally(() => running.delete(request));
      running.add(request);
      sent += 1;
    }
  }, 10);

  return {
    perSecond,
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - startedAt) / 1000;
      await Promise.all(running);
      agent.destroy();
      return `${answered} of ${sent} requests were answered in ${seconds.toFixed(1)} s.`;
    },
  };
}
