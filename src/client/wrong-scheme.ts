/** Codes of OpenSSL for an answer that is not TLS. */
const NO_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** How this package, nginx, Go and Apache answer a plain HTTP request at a TLS port, each with status 400. */
const NEEDS_TLS =
  /plain HTTP request was sent to (?:an )?HTTPS port|HTTP request to an HTTPS server|plain HTTP to an SSL-enabled server/i;

/** The sentence for a server that answered plain HTTP with the advice to use TLS; `undefined` for any other answer. */
export function answeredByTlsPort(base: string, status: number, text: string): string | undefined {
  return isPlain(base) && status === 400 && NEEDS_TLS.test(text) ? speaksTls(base) : undefined;
}

/**
 * The sentence for a request that failed because, or perhaps because, the URL has the wrong scheme; `undefined` for any
 * other failure.
 * @param error what `fetch` rejected with: the reason is in its cause, where the platform tells one
 */
export function failedByScheme(base: string, error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return undefined;
  const code = String(Reflect.get(cause, 'code'));
  const at = `The server at ${base}`;
  if (!isPlain(base)) {
    if (NO_TLS.has(code)) return `${at} speaks plain HTTP: use ${other(base)}`;
    return code === 'ECONNRESET' && cause.message.includes('before secure TLS connection')
      ? `${at} ended the TLS handshake: if it speaks plain HTTP, use ${other(base)}`
      : undefined;
  }
  // What the parser of HTTP was given: the beginning of a TLS alert (RFC 8446, section 5.1).
  if (String(Reflect.get(cause, 'data')).startsWith('\x15\x03')) return speaksTls(base);
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET'
    ? `${at} closed the connection without an answer: if it speaks HTTPS, use ${other(base)}`
    : undefined;
}

function isPlain(base: string): boolean {
  return base.startsWith('http:');
}

function speaksTls(base: string): string {
  return `The server at ${base} speaks HTTPS: use ${other(base)}`;
}

function other(base: string): string {
  return isPlain(base) ? base.replace('http:', 'https:') : base.replace('https:', 'http:');
}
