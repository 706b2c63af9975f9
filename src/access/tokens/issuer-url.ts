import { isLoopback } from '../../wire/net/hosts.ts';

/** Returns the issuer as this server's URL (RFC 8414, section 2), or `undefined` if it is not a URL. */
export function issuerUrl(issuer: string): URL | undefined {
  const url = URL.parse(issuer);
  const isAddress = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isAddress && !/[?#]/.test(issuer) && url.username === '' && url.password === '' ? url : undefined;
}

/** Returns why OAuth clients cannot discover this server by its issuer, or `undefined` if they can. */
export function discoveryProblem(issuer: string): string | undefined {
  const url = issuerUrl(issuer);
  if (url === undefined) {
    return 'security.tokens.issuer is not a URL: OAuth clients cannot discover this server (RFC 8414); set it to the URL of this server, such as https://host:9465';
  }
  if (url.protocol === 'https:' || isLoopback(url.hostname)) return undefined;
  return 'security.tokens.issuer is not https: OAuth clients refuse to discover this server (RFC 8414)';
}
