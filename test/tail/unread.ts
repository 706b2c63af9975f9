import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';

/** A stream of which nothing is read until the test does so. It ends with the test. */
export async function openUnread(t: TestContext, url: string, key: string): Promise<IncomingMessage> {
  const request = httpRequest(url, { headers: { 'X-RDCP-API-Key': key } });
  t.after(() => request.destroy());
  request.on('error', () => {});
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response.on('error', () => {}).pause();
}
