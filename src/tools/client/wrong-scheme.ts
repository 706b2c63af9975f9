/** OpenSSL error codes for a response that is not TLS. */
const NO_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** The 400 responses of this package, nginx, Go and Apache to a plain HTTP request on a TLS port. */
const NEEDS_TLS =
  /plain HTTP request was sent to (?:an )?HTTPS port|HTTP request to an HTTPS server|plain HTTP to an SSL-enabled server/i;

/** A server that keeps a plain request for longer has understood it: it did not expect TLS. */
const UNDERSTOOD_MS = 1000;

export function answeredByTlsPort(base: string, status: number, text: string): string | undefined {
  return isPlain(base) && status === 400 && NEEDS_TLS.test(text) ? speaksTls(base) : undefined;
}

/** `undefined` where the scheme is not the reason. @param error of `fetch`; its cause has the reason, if the platform gives one */
export function failedByScheme(base: string, error: unknown, waitedMs: number): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return undefined;
  const code = String(Reflect.get(cause, 'code'));
  if (!isPlain(base)) {
    if (NO_TLS.has(code)) return `speaks plain HTTP: use ${other(base)}`;
    return code === 'ECONNRESET' && cause.message.includes('before secure TLS connection')
      ? `ended the TLS handshake: if it speaks plain HTTP, use ${other(base)}`
      : undefined;
  }
  // The HTTP parser's input is the start of a TLS alert (RFC 8446, section 5.1).
  if (String(Reflect.get(cause, 'data')).startsWith('\x15\x03')) return speaksTls(base);
  if (code !== 'ECONNRESET' && code !== 'UND_ERR_SOCKET') return undefined;
  const closed = 'closed the connection without a response';
  return waitedMs > UNDERSTOOD_MS ? closed : `${closed}: if it speaks HTTPS, use ${other(base)}`;
}

function isPlain(base: string): boolean {
  return base.startsWith('http:');
}

function speaksTls(base: string): string {
  return `speaks HTTPS: use ${other(base)}`;
}

function other(base: string): string {
  return isPlain(base) ? base.replace('http:', 'https:') : base.replace('https:', 'http:');
}
