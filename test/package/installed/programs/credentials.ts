// A JWT of an identity provider, by its public key.

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
import { service } from './service.ts';

const provider = generateKeyPairSync('ed25519');
const publicKey = `${provider.publicKey.export({ type: 'spki', format: 'pem' })}`;
const jwt = { issuer: 'https://login.example', audience: 'rdcp', algorithms: ['EdDSA' as const], publicKey };
const { rdcp, url } = await service({ security: { level: 'standard', jwt } });
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = Math.floor(Date.now() / 1000);
const claims = { iss: jwt.issuer, aud: 'rdcp', sub: 'alice', scope: 'status', iat: now, exp: now + 60 };
const text = `${encoded({ alg: 'EdDSA', typ: 'JWT' })}.${encoded(claims)}`;
const signed = (key = provider.privateKey) => `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
assert.equal((await createRdcpClient({ baseUrl: url, token: signed() }).session()).userId, 'alice');
const forged = signed(generateKeyPairSync('ed25519').privateKey);
await assert.rejects(createRdcpClient({ baseUrl: url, token: forged }).session(), { code: 'RDCP_AUTH_FAILED' });
await rdcp.close();
