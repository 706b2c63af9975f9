import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

type Environment = Readonly<Record<string, string | undefined>>;

/** What to try, with addresses that work as they stand: somebody may read this for the first time at three in the morning. */
export async function guide(shopUrl: string, env: Environment): Promise<string> {
  const control = `http://${env.RDCP_HOST ?? '127.0.0.1'}:${env.RDCP_PORT ?? 9465}`;
  const metrics = `http://127.0.0.1:${env.OTEL_EXPORTER_PROMETHEUS_PORT ?? 9464}/metrics`;
  if (!(await answers(`${control}/.well-known/rdcp`))) {
    return `The shop is open at ${shopUrl}, without remote control: start it with npm start.`;
  }
  const key = keyOf(env);
  const get = `curl -s -H "X-RDCP-API-Key: ${key.shell}"`;
  const post = `${get} -H 'Content-Type: application/json' ${control}/rdcp/v1/control`;

  return `
The shop is open at ${shopUrl}, and has customers. Its debug output is off.

What can be switched on, and how much each says:
  ${get} ${control}/rdcp/v1/discovery

See every database statement here for five minutes; then it is off by itself:
  ${post} -d '${enable('DATABASE', '5m', 'orders are slow')}'

Off at once, and all others too:
  ${post} -d '{"action":"reset"}'

Who switched what, when and why:
  ${get} ${control}/rdcp/v1/audit

Remote control ${control}, key ${key.where}
Metrics        ${metrics}
Stop it with Ctrl-C.
`;
}

function enable(category: string, duration: string, reason: string): string {
  return JSON.stringify({ action: 'enable', categories: category, options: { temporary: true, duration, reason } });
}

/** How a shell gets at the key, and where a reader finds it. The key itself is never printed. */
function keyOf(env: Environment): { shell: string; where: string } {
  if (env.RDCP_API_KEY !== undefined) return { shell: '$RDCP_API_KEY', where: 'in RDCP_API_KEY' };
  if (env.RDCP_API_KEYS_FILE !== undefined || env.RDCP_CONFIG !== undefined) {
    return { shell: '$RDCP_API_KEY', where: 'your own: put it in RDCP_API_KEY of your shell' };
  }
  const file = resolve('.rdcp/dev-key');
  return { shell: `$(cat ${/^[\w./-]+$/.test(file) ? file : `'${file}'`})`, where: `in ${file}` };
}

/** The endpoint is started by another module, at its own pace: it has two seconds. */
async function answers(url: string): Promise<boolean> {
  for (const pause of [0, 50, 100, 200, 400, 600, 650]) {
    await sleep(pause);
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
    if (response?.ok) return true;
  }
  return false;
}
