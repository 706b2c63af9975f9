// A job that nothing can connect to follows the document that a service has signed.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { service, until } from './service.ts';

const issuer = 'https://ops.example';
if (process.env.PUBLIC_KEY !== undefined) {
  const issuers = [{ issuer, audience: 'jobs', publicKey: process.env.PUBLIC_KEY }];
  createRdcp({
    server: false,
    pull: { file: 'controls.jwt' },
    security: { tickets: { issuers } },
    emit: { to: 'stderr' },
  });
  await until(() => category('IMPORT').enabled);
  console.log('imports');
} else {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  writeFileSync('jobs.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const tokens = { issuer, audience: 'jobs', signingKeyFile: 'jobs.pem' };
  const { rdcp, client } = await service({ security: { tokens } });
  const answer = await client.enable('IMPORT', { duration: '1h', otelrdcp_sign: true });
  writeFileSync('controls.jwt', answer.otelrdcp_document?.value ?? '');
  const env = { ...process.env, PUBLIC_KEY: `${publicKey.export({ type: 'spki', format: 'pem' })}` };
  assert.match(execFileSync(process.execPath, ['jobs.ts'], { env, encoding: 'utf8' }), /imports/);
  await rdcp.close();
}
