import { configurationError } from '../errors.ts';
import { isLoopback } from './hosts.ts';

/**
 * Returns a validated URL for requests of our own.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` unless it is an https URL, or http on loopback, without user name and password:
 * `fetch` would reject those with an error that shows them
 */
export function trustedUri(uri: string, field: string): string {
  const url = URL.parse(uri);
  const trusted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === null || !trusted || url.username !== '' || url.password !== '') {
    throw configurationError(field, 'must be an https URL without a user name or password');
  }
  return url.href;
}
