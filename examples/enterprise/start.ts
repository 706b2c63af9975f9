// A service at security level enterprise, for two tenants: npm run example:enterprise.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { createAuthority, openssl } from './authority.ts';
import { CUSTOMERS, startBilling } from './billing.ts';
import { guide } from './guide.ts';

const CLI = join(fileURLToPath(import.meta.resolve('opentelemetry-instrumentation-rdcp')), '../cli/main.js');
const FOLDER = '.rdcp/enterprise';
const INVOICE_EVERY_MS = 1000;

if (spawnSync('openssl', ['version']).error !== undefined) {
  console.error('The openssl command is needed to make certificates: install it and start again.');
  process.exit(1);
}

/** Certificates, API keys and a signing key: what an organization has already, and keeps elsewhere. */
function makeCredentials(): void {
  const authority = createAuthority(FOLDER);
  authority.issue('server', 'server');
  authority.issue('operator', 'client');
  for (const customer of Object.keys(CUSTOMERS)) {
    authority.issue(customer, 'client');
    const client = ['--client', `${customer}-engineer`, '--tenant', customer, '--scopes', 'discovery,status,control'];
    const command = [CLI, 'keys', 'create', '--file', `${FOLDER}/keys.json`, ...client];
    const key = execFileSync(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    writeFileSync(`${FOLDER}/${customer}.api-key`, key.toString().trim(), { mode: 0o600 });
  }
  openssl('genpkey', '-algorithm', 'ed25519', '-out', `${FOLDER}/token-signing.key`);
}

makeCredentials();
const port = Number(process.env.RDCP_PORT ?? 9465);
const rdcp = createRdcp({
  server: {
    port,
    tls: {
      certFile: `${FOLDER}/server.pem`,
      keyFile: `${FOLDER}/server.key`,
      clientCaFile: `${FOLDER}/ca.pem`,
      crlFile: `${FOLDER}/crl.pem`,
    },
  },
  security: {
    level: 'enterprise',
    // The operator's certificate is an identity. Any other one only opens a connection, and needs a token.
    mtls: { identities: [{ subject: 'O=Example,CN=operator', userId: 'operator', scopes: ['admin'] }] },
    apiKeys: { file: `${FOLDER}/keys.json` },
    tokens: {
      issuer: `https://localhost:${port}`,
      audience: 'billing',
      signingKeyFile: `${FOLDER}/token-signing.key`,
    },
  },
  tenancy: { isolation: 'organization', tenants: CUSTOMERS },
  store: `sqlite:${FOLDER}/state.sqlite`,
});
const { url } = await rdcp.listen();
const billing = startBilling(INVOICE_EVERY_MS);

const stop = () => {
  billing.stop();
  void rdcp.close();
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

// The certificate is for both names; a person reads this one more easily.
console.log(guide(url.replace('127.0.0.1', 'localhost'), FOLDER));
