import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { writeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { blocksOf, startService } from './recipe.ts';

/** An address of this machine that stands for the pod's. */
const POD_IP = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

interface Probe {
  readonly path: string;
  readonly port: number;
  readonly scheme: string;
}

const PROBES = blocksOf('Kubernetes', 'yaml').map((block): Probe => {
  const field = (name: string) => new RegExp(`^ {4}${name}: (\\S+)$`, 'm').exec(block)?.[1];
  return { path: field('path') ?? '', port: Number(field('port')), scheme: field('scheme') ?? 'HTTP' };
});

/** The request that kubelet makes of an `httpGet` probe: by the pod's address, without verifying a certificate. */
function probe({ path, scheme }: Probe, port: number): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const send = scheme === 'HTTPS' ? httpsRequest : (httpRequest as typeof httpsRequest);
  const headers = { Host: `${POD_IP}:${port}`, 'User-Agent': 'kube-probe/1.30', Accept: '*/*', Connection: 'close' };
  send({ host: POD_IP, port, path, headers, agent: false, rejectUnauthorized: false }, (response) => {
    response.resume().once('end', () => resolve(response.statusCode));
  })
    .once('error', reject)
    .end();
  return promise;
}

test('the recipes for Kubernetes name the port and both schemes', () => {
  assert.ok(POD_IP !== undefined, 'this machine has an address beside loopback');
  assert.deepEqual(
    PROBES.map(({ port, scheme }) => [port, scheme]),
    [
      [9465, 'HTTP'],
      [9465, 'HTTPS'],
    ],
  );
});

test('the probe of kubelet is answered where TLS ends at the ingress', async (t) => {
  const { port } = await startService(t, 'Kubernetes', []);
  assert.equal(await probe(PROBES[0] ?? assert.fail(), port), 200);
});

test('the probe of kubelet is answered where the pod has TLS', async (t) => {
  const { certFile, keyFile } = writeCertificate();
  const port = await freePort();
  const server = { host: '0.0.0.0', port, tls: { certFile, keyFile } };
  const apiKeys = [{ id: 'key', hash: `sha256:${'0'.repeat(64)}`, clientId: 'ops', scopes: ['admin' as const] }];
  const rdcp = createRdcp({ server, security: { apiKeys } });
  t.after(() => rdcp.close());
  await rdcp.listen();
  assert.equal(await probe(PROBES[1] ?? assert.fail(), port), 200);
});
