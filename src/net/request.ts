import { type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { INSTRUMENTATION_NAME, VERSION } from '../version.ts';

/**
 * Opens a request of this package's own; the caller ends it. Redirects are not followed. Not `fetch`, whose connections keep the
 * process alive while a request is in flight.
 */
export function openRequest(
  url: string,
  { headers, ...options }: RequestOptions & { readonly headers: Readonly<Record<string, string | number>> },
): ClientRequest {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  const opened = request(url, {
    ...options,
    headers: { 'User-Agent': `${INSTRUMENTATION_NAME}/${VERSION}`, ...headers },
  });
  opened.on('socket', (socket) => socket.unref());
  return opened;
}
