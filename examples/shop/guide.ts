import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_CONTROL = 'http://127.0.0.1:9465';

/** What to try, with addresses that work as they stand: somebody may read this for the first time at three in the morning. */
export async function guide(shopUrl: string, env: Environment): Promise<string> {
  const control = url(env.RDCP_HOST, '127.0.0.1', env.RDCP_PORT, 9465);
  const metrics = url(env.OTEL_EXPORTER_PROMETHEUS_HOST, 'localhost', env.OTEL_EXPORTER_PROMETHEUS_PORT, 9464);
  if (!(await isServedHere(`${control}/.well-known/rdcp`))) {
    return `
The shop is open at ${shopUrl}. It has no remote control at ${control}: a line that begins with "rdcp:"
says why.${env.SHOP_COMMAND === undefined ? ' If there is none, start the shop with npm start.' : ''} RDCP_PORT chooses another port.
`;
  }
  const scraped = await isServedHere(`${metrics}/metrics`);
  const key = keyOf(env);
  const foot = `
Remote control ${control}, key ${key.where}
Metrics        ${scraped ? `${metrics}/metrics` : 'none here: see the line that begins with "rdcp:"'}
Other ports    SHOP_PORT, RDCP_PORT, OTEL_EXPORTER_PROMETHEUS_PORT
Stop it with Ctrl-C.
`;
  const at = control === DEFAULT_CONTROL ? '' : `RDCP_URL=${control} `;
  const { SHOP_COMMAND } = env;
  return SHOP_COMMAND === undefined
    ? thorough(shopUrl, control, key.shell, at) + foot
    : brief(shopUrl, at + SHOP_COMMAND) + foot;
}

function thorough(shopUrl: string, control: string, key: string, at: string): string {
  const get = `curl -s -H "X-RDCP-API-Key: ${key}"`;
  const post = `${get} -H 'Content-Type: application/json' ${control}/rdcp/v1/control`;
  const command = `${at}npx rdcp`;
  return `
The shop is open at ${shopUrl}, and has customers. No debug line is written.

What can be switched on, and how much each says:
  ${get} ${control}/rdcp/v1/discovery

See every database statement here for five minutes; then it is off by itself:
  ${post} -d '${enable('DATABASE', '5m', 'orders are slow')}'

Off at once, and all others too:
  ${post} -d '{"action":"reset"}'

Who switched what, when and why:
  ${get} ${control}/rdcp/v1/audit

Why did orders of customer 42 fail? The lines of that user in the last minute, and new ones by a header, which takes no code:
  ${command} tail ORDERS -m user.id=42 --since 1m --lines 3
  ${command} tail ORDERS -m http.request.header.x-customer=42 --lines 3

The same with less typing, in this directory:
  ${command} list
  ${command} enable DATABASE --for 5m --reason 'orders are slow'
  ${command} end --all --yes
  ${command} audit
`;
}

/** For the demo, where there is only npx. */
function brief(shopUrl: string, command: string): string {
  return `
The shop is open at ${shopUrl}, and has customers. No debug line is written.
In a second terminal, in this folder: what can be switched on; the lines of customer 42, whose
orders failed a moment ago; every database statement here for one minute, then off by itself; who switched
what, when and why.
  ${command} list
  ${command} tail ORDERS -m user.id=42 --since 1m --lines 3
  ${command} enable DATABASE --for 1m --reason 'orders are slow'
  ${command} audit
`;
}

/** An empty variable counts as not set, as OpenTelemetry's do. */
function url(host: string | undefined, defaultHost: string, port: string | undefined, defaultPort: number): string {
  const name = host === undefined || host === '' ? defaultHost : host;
  const number = port === undefined || port === '' ? defaultPort : port;
  return `http://${name.includes(':') ? `[${name}]` : name}:${number}`;
}

function enable(category: string, duration: string, reason: string): string {
  return JSON.stringify({ action: 'enable', categories: category, options: { temporary: true, duration, reason } });
}

/** How a shell gets at the key, and where a reader finds it. The key itself is never printed. */
function keyOf(env: Environment): { shell: string; where: string } {
  const own = [env.RDCP_SERVER_API_KEY, env.RDCP_API_KEYS_FILE, env.RDCP_CONFIG].some((value) => (value ?? '') !== '');
  if (own) return { shell: '$RDCP_API_KEY', where: 'your own: put it in RDCP_API_KEY of your shell' };
  const file = resolve('.rdcp/dev-key');
  return { shell: `$(cat ${/^[\w./-]+$/.test(file) ? file : `'${file}'`})`, where: `in ${file}` };
}

/**
 * Whether this very process answers there: another one may have had the port before. What listens is started by another
 * module, at its own pace: it has two seconds.
 */
async function isServedHere(address: string): Promise<boolean> {
  const probe = randomUUID();
  let isHere = false;
  const onRequest = (message: unknown) => {
    isHere ||= (message as { request: IncomingMessage }).request.headers['user-agent'] === probe;
  };
  subscribe('http.server.request.start', onRequest);
  try {
    for (const pause of [0, 50, 100, 200, 400, 600, 650]) {
      await sleep(pause);
      const request = { headers: { 'User-Agent': probe }, signal: AbortSignal.timeout(1000) };
      const response = await fetch(address, request).catch(() => undefined);
      await response?.arrayBuffer();
      if (response?.ok) return isHere;
    }
    return false;
  } finally {
    unsubscribe('http.server.request.start', onRequest);
  }
}
