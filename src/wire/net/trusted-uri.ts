import { configurationError } from '../errors.ts';
import { isLoopback } from './hosts.ts';

/** @throws {RdcpError} unless it is https, or http on loopback, without user and password, which errors of `fetch` would show */
export function trustedUri(uri: string, field: string): string {
  const url = URL.parse(uri);
  const trusted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === null || !trusted || url.username !== '' || url.password !== '') {
    throw configurationError(field, 'must be an https URL without a user name or password');
  }
  return url.href;
}
