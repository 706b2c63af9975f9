import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';

const PATIENCE_MS = 60_000;
const DEFAULT_CONTROL = 'http://127.0.0.1:9465';

/** Waits until that many processes are on the list and have all there is. @throws also when `signal` ends the wait */
export async function allThere(
  control: string,
  count: number,
  key: () => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(100, undefined, { signal })) {
    const apiKey = key();
    if (apiKey === undefined) continue;
    const status = await createRdcpClient({ baseUrl: control, apiKey })
      .status()
      .catch(() => undefined);
    const fleet = status?.otelrdcp_fleet;
    if (fleet?.instances === count && fleet.applied === count) return;
  }
  throw new Error(`not all of ${count} processes were there after ${PATIENCE_MS / 1000} s`);
}

/** What to try, with process ids and addresses that work as they stand. */
export function guide(at: { shop: string; control: string; store: string; pids: readonly number[] }): string {
  const { shop, control, store, pids } = at;
  const [stopped, killed] = pids;
  const rdcp = `${control === DEFAULT_CONTROL ? '' : `RDCP_URL=${control} `}npx rdcp`;
  return `
${pids.length} processes of the shop are open behind ${shop}. Whichever of them answers, all follow. In this directory:
  ${rdcp} enable DATABASE --for 5m --reason 'orders are slow'

Who is there, and how far is each?
  ${rdcp} fleet

Stop one: the answer names it. Let it go on: it catches up by itself.
  kill -STOP ${stopped}; ${rdcp} toggle CACHE; kill -CONT ${stopped}; sleep 2; ${rdcp} fleet

Kill one: it is waited for at first, then not heard of, and counts for five minutes: it could be cut off and go on.
  kill -KILL ${killed}; ${rdcp} toggle CACHE; sleep 4; ${rdcp} toggle CACHE

Who switched what, from ${pids.length} processes, and is that trail whole?
  ${rdcp} audit
  ${rdcp} audit verify --store ${store}

Remote control ${control}, key in ${(process.env.RDCP_SERVER_API_KEY ?? '') === '' ? resolve('.rdcp/dev-key') : 'RDCP_SERVER_API_KEY'}
Stop it with Ctrl-C.
`;
}
