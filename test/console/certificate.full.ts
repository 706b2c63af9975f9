import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createAuthority, writePems } from '../support/certificate.ts';
import { enable, waitForState } from './drive.ts';
import { browserTest, openPage, startService } from './support.ts';

const authority = createAuthority();

/** A service that asks every client for a certificate, and knows one of them. */
async function startWithCertificates(t: TestContext) {
  const { cert, key } = authority.issue('localhost', { usage: 'server' });
  const files = writePems({ certFile: cert, keyFile: key, clientCaFile: authority.cert });
  const identity = { subject: 'CN=anna', userId: 'anna', scopes: ['discovery', 'status', 'control'] as const };
  return startService(t, {
    console: true,
    server: { tls: files },
    security: { mtls: { identities: [{ ...identity, scopes: [...identity.scopes] }] } },
  });
}

/** A browser that shows this certificate. */
function showing({ url }: { readonly url: string }, commonName: string) {
  const { cert, key } = authority.issue(commonName, { usage: 'client' });
  const certificate = { origin: new URL(url).origin, cert: Buffer.from(cert), key: Buffer.from(key) };
  return { ignoreHTTPSErrors: true, clientCertificates: [certificate] };
}

browserTest('a client certificate that the service knows signs in, without a word', async (t, browser) => {
  const service = await startWithCertificates(t);
  const { page } = await openPage(t, browser, service.console, showing(service, 'anna'));
  await page.getByRole('grid', { name: 'Categories' }).waitFor();
  assert.equal(await page.locator('#credential').count(), 0);
  await page.locator('.menu summary').click();
  const method = page.getByText('mtls', { exact: true });
  await method.click();
  assert.ok(await method.isVisible(), 'a click inside leaves the menu open');
  await page.locator('.service').click();
  await method.waitFor({ state: 'hidden' });
  assert.match(await enable(page, 'DATABASE', 'slow checkout'), /DATABASE/);
  await waitForState(page, 'DATABASE', 'On');
  assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0, 'the certificate has no scope for it');
});

browserTest('a client certificate without an identity asks for a credential', async (t, browser) => {
  const service = await startWithCertificates(t);
  const { page } = await openPage(t, browser, service.console, showing(service, 'stranger'));
  await page.locator('#credential').waitFor();
});
