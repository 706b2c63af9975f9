/** Where the endpoint listens, and which requests it serves. */
export interface ServerOptions {
  /**
   * Address to listen on. Any other than a loopback address needs `tls` or `behindTlsProxy`, and a credential in
   * `security`; otherwise the start fails.
   * @default '127.0.0.1'
   */
  readonly host?: string | undefined;
  /**
   * TCP port, 0 to 65535. With 0 the system chooses one; `listen()` returns the address.
   * @default 9465
   */
  readonly port?: number | undefined;
  /**
   * Serve HTTPS: TLS 1.3, with HTTP/2 and HTTP/1.1. The files are read again when they change.
   * @default none: plain HTTP
   */
  readonly tls?: TlsOptions | undefined;
  /**
   * Further host names, without port, that requests may have in their `Host` header. Loopback names, `host` and the IP
   * address that the client connected to are always accepted; requests for any other host are refused. Under
   * `register` this holds for `/metrics` as well.
   * @default []
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Whether a proxy in front of this process ends TLS, so that plain HTTP is accepted on any address.
   * @default false
   */
  readonly behindTlsProxy?: boolean | undefined;
  /**
   * Proxies whose `X-Forwarded-For` or `Forwarded` header gives the client's address, for rate limits and the audit
   * trail: IP addresses, networks such as `10.0.0.0/8`, and `unix` for Unix sockets.
   * @default []: the headers are ignored
   */
  readonly trustedProxies?: readonly string[] | undefined;
}

/** PEM files of the HTTPS listener. They are read again when they change. A file that cannot be used fails the start. */
export interface TlsOptions {
  /** PEM file of the server's certificate, followed by its chain. With `NODE_ENV=production` a self-signed one fails the start. */
  readonly certFile: string;
  /** PEM file of the certificate's private key, without a passphrase. */
  readonly keyFile: string;
  /**
   * PEM file of the authorities whose client certificates are accepted. Every connection then needs a client certificate.
   * @default none: clients are not asked for a certificate
   */
  readonly clientCaFile?: string | undefined;
  /**
   * PEM file of revocation lists, one of each authority in `clientCaFile`. Not allowed without `clientCaFile`.
   * @default none: no client certificate is revoked
   */
  readonly crlFile?: string | undefined;
}
