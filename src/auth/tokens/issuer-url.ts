import { isLoopbackName } from '../jwt-issuer.ts';

/**
 * The issuer as the address at which clients reach this server, which is what RFC 8414, section 2, has it be; `undefined` for
 * a mere name. Without an address there is no metadata.
 */
export function issuerUrl(issuer: string): URL | undefined {
  const url = URL.parse(issuer);
  const isAddress = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isAddress && !/[?#]/.test(issuer) && url.username === '' && url.password === '' ? url : undefined;
}

/** Why OAuth clients cannot find this server by its issuer, in one line; `undefined` where they can. */
export function discoveryProblem(issuer: string): string | undefined {
  const url = issuerUrl(issuer);
  if (url === undefined) {
    return 'security.tokens.issuer is not a URL: OAuth clients cannot discover this server (RFC 8414); set the address that they reach it by, such as https://host:9465';
  }
  if (url.protocol === 'https:' || isLoopbackName(url.hostname)) return undefined;
  return 'security.tokens.issuer is not https: OAuth clients refuse to discover this server (RFC 8414)';
}
