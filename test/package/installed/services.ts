import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createAuthority } from '../../support/certificate.ts';
import { freePort } from '../../support/free-port.ts';
import { type Application, CATEGORIES } from './application.ts';

/** Every scope, for commands; the other rows make keys of their own. */
const SCOPES = 'discovery,status,control,tail,alerts,admin';

/**
 * Starts what the commands ask: `shop` and `cart`, both in a profile, and `pay` over TLS, which takes client certificates. Their
 * log records go to a file as a collector writes it, their notifications to a receiver.
 * @returns variables of the command lines
 */
export async function startServices(app: Application): Promise<Record<string, string>> {
  const write = (file: string, content: string | object) => {
    const written = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(join(app.directory, file), written, { mode: 0o600 });
  };
  const [shop, cart, pay, shopApp] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const port = await freePort();
  const collector = createServer(async (request, response) => {
    const body = await text(request);
    if (request.url === '/v1/logs') appendFileSync(join(app.directory, 'records.jsonl'), `${body}\n`);
    response.setHeader('Content-Type', 'application/json').end('{}');
  });
  collector.listen(port, '127.0.0.1').unref();

  for (const name of ['signing', 'audit']) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    write(`${name}.pem`, `${privateKey.export({ type: 'pkcs8', format: 'pem' })}`);
    write(`${name}.pub`, `${publicKey.export({ type: 'spki', format: 'pem' })}`);
  }
  const authority = createAuthority();
  const [server, client] = [authority.issue('pay', { usage: 'server' }), authority.issue('dora', { usage: 'client' })];
  const pems = {
    ca: authority.cert,
    crl: authority.revocationList(),
    server: server.cert,
    'server-key': server.key,
    dora: client.cert,
  };
  for (const [name, pem] of Object.entries({ ...pems, 'dora-key': client.key })) write(`${name}.pem`, pem);
  // A browser of the person: it keeps the address that it is given.
  mkdirSync(join(app.directory, 'bin'));
  write('bin/xdg-open', '#!/bin/sh\necho "$1" > opened\n');
  chmodSync(join(app.directory, 'bin/xdg-open'), 0o755);
  mkdirSync(join(app.directory, 'started'));
  write('started/package.json', { type: 'module', scripts: { start: 'node app.js' } });
  await app.type(`rdcp keys create --file keys.json --client ops --scopes ${SCOPES} > ops.key`);

  const common = {
    security: { apiKeys: { file: 'keys.json' } },
    tenancy: { isolation: 'organization', tenants: { acme: { name: 'Acme Ltd' } } },
    limits: { controlPerMinute: 10_000, readPerMinute: 10_000, anonymousPerMinute: 10_000 },
    emit: { to: 'both' },
  };
  write('shop.json', {
    ...common,
    categories: { ALWAYS: { enabled: true, description: 'on by default' } },
    security: {
      ...common.security,
      tokens: { issuer: `http://localhost:${shop}`, audience: 'rdcp', signingKeyFile: 'signing.pem' },
    },
    store: 'sqlite:shop.sqlite',
    audit: { signingKeyFile: 'audit.pem' },
    recorder: { categories: ['KEPT'] },
    notify: { webhook: { url: `http://127.0.0.1:${port}/hook`, format: 'slack' } },
    alerts: [
      { name: 'orders', match: { alertname: 'Fails' }, enable: ['ALARMS'], for: '5m', filter: { where: 'rows > 1' } },
    ],
  });
  write('cart.json', common);
  write('pay.json', {
    ...common,
    server: { tls: { certFile: 'server.pem', keyFile: 'server-key.pem', clientCaFile: 'ca.pem' } },
    security: {
      ...common.security,
      mtls: { identities: [{ subject: 'CN=dora', userId: 'dora', scopes: ['discovery'] }] },
    },
  });
  const serve = (name: string, endpoint: number, application: number) =>
    app.serve('shop.ts', {
      CATEGORIES,
      APP_PORT: `${application}`,
      RDCP_CONFIG: `${name}.json`,
      RDCP_PORT: `${endpoint}`,
      OTEL_SERVICE_NAME: name,
      OTEL_RESOURCE_ATTRIBUTES: 'service.version=1.4.2',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `http://127.0.0.1:${port}/v1/logs`,
    });
  await Promise.all([
    serve('shop', shop, shopApp),
    serve('cart', cart, await freePort()),
    serve('pay', pay, await freePort()),
  ]);
  const urls = { SHOP: `http://localhost:${shop}`, CART: `http://localhost:${cart}`, PAY: `https://localhost:${pay}` };
  for (const name of ['shop', 'cart']) {
    await app.type(`rdcp login --profile ${name} --url ${urls[name.toUpperCase() as 'SHOP' | 'CART']} < ops.key`);
  }
  return { ...urls, APP: `http://127.0.0.1:${shopApp}`, RDCP_PROFILE: 'shop', BROWSER: 'xdg-open' };
}
