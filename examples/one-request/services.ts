import { type ChildProcess, fork } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const REGISTER = import.meta.resolve('opentelemetry-instrumentation-rdcp/register');
const FOLDER = '.rdcp/one-request';

export interface Services {
  /** Addresses: of the first service, of its remote control, and of that of the service without the shared store. */
  readonly storefront: string;
  readonly control: string;
  readonly shippingControl: string;
  /** Requests are answered first. */
  close(): Promise<void>;
}

/**
 * Starts the services from the last to the first, each in a process of its own.
 * @param say called with every line that they write
 */
export async function startServices(
  ports: { readonly storefront: number; readonly control: number; readonly shippingControl: number },
  store: string,
  say: (line: string) => void,
): Promise<Services> {
  const control = `http://127.0.0.1:${ports.control}`;
  const shippingControl = `http://127.0.0.1:${ports.shippingControl}`;
  const files = configure(control);
  const children: ChildProcess[] = [];

  /** @returns its address */
  async function start(name: string, port: number, env: NodeJS.ProcessEnv): Promise<string> {
    const child = fork(fileURLToPath(import.meta.resolve(`./${name}.ts`)), {
      execArgv: ['--import', REGISTER],
      env: { ...process.env, OTEL_SERVICE_NAME: name, OTEL_METRICS_EXPORTER: 'none', PORT: String(port), ...env },
      silent: true,
    });
    children.push(child);
    for (const output of [child.stdout, child.stderr]) {
      createInterface({ input: output as Readable }).on('line', (line) => say(`[${name}] ${line}`));
    }
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${name} did not start`)));
    const [address] = await Promise.race([once(child, 'message'), ended]);
    return String(address);
  }

  const close = async () => {
    const ended = children.filter(({ exitCode }) => exitCode === null).map((child) => once(child, 'exit'));
    for (const child of children) child.kill();
    await Promise.all(ended);
  };
  try {
    const shipping = await start('shipping', 0, {
      RDCP_PORT: String(ports.shippingControl),
      RDCP_CONFIG: files.shipping,
      // A file of its own: another team's service, on another machine.
      RDCP_STORE: `sqlite:${FOLDER}/shipping.sqlite`,
    });
    const stock = await start('stock', 0, { RDCP_PORT: '0', RDCP_STORE: store, NEXT: shipping });
    const storefront = await start('storefront', ports.storefront, {
      RDCP_PORT: String(ports.control),
      RDCP_CONFIG: files.storefront,
      RDCP_STORE: store,
      NEXT: stock,
    });
    return { storefront, control, shippingControl, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The storefront signs tickets, and shipping trusts its key. */
function configure(issuer: string): { storefront: string; shipping: string } {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signingKeyFile = `${FOLDER}/tickets.key`;
  writeFileSync(signingKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' });

  const files = { storefront: `${FOLDER}/storefront.json`, shipping: `${FOLDER}/shipping.json` };
  const tokens = { issuer, audience: 'shop', signingKeyFile };
  const tickets = { issuers: [{ issuer, audience: 'shop', publicKey: pem }], categories: ['ORDERS'] };
  writeFileSync(files.storefront, JSON.stringify({ security: { tokens } }, undefined, 2));
  writeFileSync(files.shipping, JSON.stringify({ security: { tickets } }, undefined, 2));
  return files;
}
