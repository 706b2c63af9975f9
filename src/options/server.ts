/** Where the endpoint listens, and which requests it serves. */
export interface ServerOptions {
  /** Address to listen on. Beyond loopback it needs `tls` or `behindTlsProxy`, and a credential. @default '127.0.0.1' */
  readonly host?: string | undefined;
  /** TCP port, 0 to 65535. With 0 the system chooses one; `listen()` returns the address. @default 9465 */
  readonly port?: number | undefined;
  /** Serve HTTPS: TLS 1.3, with HTTP/2 and HTTP/1.1. @default none: plain HTTP */
  readonly tls?: TlsOptions | undefined;
  /**
   * Further host names, without port, that requests may have in `Host`, also for `/metrics` under `register`. Loopback names, `host`
   * and the IP address that the client connected to are always accepted.
   * @default []
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Whether a proxy ends TLS before this process, so that plain HTTP is accepted on any address. @default false */
  readonly behindTlsProxy?: boolean | undefined;
  /**
   * Proxies whose `X-Forwarded-For` or `Forwarded` gives the client's address, for rate limits and the audit trail: IP addresses,
   * networks such as `10.0.0.0/8`, and `unix` for Unix sockets.
   * @default []: the headers are ignored
   */
  readonly trustedProxies?: readonly string[] | undefined;
}

/** PEM files of the HTTPS listener. They are read again when they change. A file that cannot be used fails the start. */
export interface TlsOptions {
  /** The server's certificate, followed by its chain. With `NODE_ENV=production` it must not be self-signed. */
  readonly certFile: string;
  /** The certificate's private key, without a passphrase. */
  readonly keyFile: string;
  /** Authorities whose client certificates are accepted; each connection then needs one. @default none: not asked for */
  readonly clientCaFile?: string | undefined;
  /** Revocation lists, one of each authority in `clientCaFile`. @default none: no client certificate is revoked */
  readonly crlFile?: string | undefined;
}
