/** Configurations that have every option between them. */

const MOST = { callsPerSecond: 10, calls: 100, bytes: 10_000 };
const LIMITED = {
  allow: {
    categories: ['DB_*'],
    actions: ['enable', 'tail'],
    maxDuration: '5m',
    maxBudget: MOST,
    tail: 'redacted',
    tenants: ['a*'],
  },
  approval: true,
};
const CLAIMS = { scopeClaim: 'scope', tenantClaim: 'tenant', tenantsClaim: 'tenants', allowClaim: 'allow', ...LIMITED };
const SECRET = 's'.repeat(32);
const PUBLIC_KEY =
  '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n';
const by = (issuer: string) => ({ issuer, audience: 'rdcp', ...CLAIMS });
const jwksUri = 'https://login.example/jwks';
const KEY = {
  id: 'k',
  hash: `sha256:${'0'.repeat(64)}`,
  clientId: 'ops',
  userId: 'alice',
  scopes: ['control', 'tail'],
};
const MAKER = { userId: 'dora', clientId: 'laptop', scopes: ['status'], ...LIMITED };
const WEBHOOK = {
  url: 'https://ops.example/',
  secret: `whsec_${SECRET}`,
  events: ['change', 'expiry'],
  format: 'standard',
};
const TICKETS = {
  issuers: [
    { issuer: 'https://orders.example', audience: 'rdcp', jwksUri: 'https://orders.example/rdcp/v1/jwks' },
    { issuer: 'https://stock.example', publicKey: PUBLIC_KEY },
  ],
  categories: ['DB_*'],
  maxDuration: '30m',
  sampleTraces: true,
};
const BUDGET = { callsPerSecond: 200, burst: 400, bytesPerSecond: 65_536 };
const CHOSEN = { ids: ['web-1:42'], version: '1.4.2', count: 1 };

export const CONFIGURATIONS: readonly object[] = [
  {
    server: {
      host: '0.0.0.0',
      port: 9465,
      tls: { certFile: 'server.pem', keyFile: 'server-key.pem', clientCaFile: 'ca.pem', crlFile: 'crl.pem' },
      allowedHosts: ['ops.example'],
      trustedProxies: ['10.0.0.0/8', 'unix'],
    },
    categories: { ORDERS: { description: 'orders', enabled: true } },
    security: {
      level: 'enterprise',
      apiKeys: [
        {
          ...KEY,
          tenants: ['a*'],
          ...LIMITED,
          notBefore: '2026-01-31T00:00:00.000Z',
          expiresAt: '2096-01-31T00:00:00.000Z',
        },
        { ...KEY, id: 'l', hash: `sha256:${'1'.repeat(64)}`, tenantId: 'acme' },
      ],
      jwt: [
        { ...by('https://a.example'), algorithms: ['HS256'], secret: SECRET },
        { ...by('https://b.example'), algorithms: ['EdDSA'], publicKey: PUBLIC_KEY },
        { ...by('https://c.example'), algorithms: ['ES256'], jwksUri },
      ],
      mtls: {
        identities: [
          { ...MAKER, subject: 'CN=dora', tenants: ['a*'] },
          { ...MAKER, san: 'DNS:dora.example', tenantId: 'acme' },
          { ...MAKER, fingerprint256: Array(32).fill('AB').join(':') },
        ],
      },
      tickets: TICKETS,
    },
    tenancy: {
      isolation: 'namespace',
      namespace: 'shop',
      tenants: { acme: { name: 'Acme Ltd' } },
      baggageKey: 'tenant',
    },
    controls: {
      defaultDuration: '5m',
      maxDuration: '12h',
      maxTemporaryPerTenant: 10,
      budget: {
        ...BUDGET,
        categories: { ORDERS: BUDGET, MAILS: false },
        process: { callsPerSecond: 900, bytesPerSecond: 65_536 },
      },
    },
    limits: {
      controlPerMinute: 10,
      readPerMinute: 100,
      healthPerMinute: 100,
      anonymousPerMinute: 10,
      requestTimeoutSeconds: 10,
      maxCategories: 100,
      maxConnections: 100,
      maxConnectionsPerAddress: 10,
    },
    audit: { retentionDays: 30, signingKeyFile: 'audit.pem' },
    fleet: { acknowledgeTimeoutSeconds: 2 },
    tail: { scope: 'control', rate: 50 },
    recorder: {
      categories: ['ORDERS', 'DB_*'],
      keepSeconds: 30,
      keepBytes: 4_194_304,
      callsPerWork: 100,
      bytesPerWork: 65_536,
      bytes: 1_048_576,
      works: 1000,
      seconds: 30,
      guards: false,
    },
    console: { traceUrl: 'https://traces.example/{traceId}' },
    store: 'memory:',
    health: { database: () => undefined },
    metrics: { rateWindowSeconds: 30, tenantAttribute: true },
    notify: { webhook: [WEBHOOK, { url: 'https://chat.example/', format: 'slack' }] },
    alerts: [
      {
        name: 'orders',
        match: { alertname: 'Fails*' },
        enable: ['ORDERS'],
        for: '5m',
        tenant: 'acme',
        target: { match: { 'http.route': '/orders' }, instances: CHOSEN },
        filter: { where: 'rows > 1', text: 'order *', sample: 0.5 },
        when: { failed: true, slowerThan: '2s' },
        cooldown: '1m',
      },
      { name: 'half', match: { a: 'b' }, enable: ['ORDERS'], for: '5m', target: { instances: { percent: 50 } } },
      { name: 'fails', when: { errorRate: 0.05, over: '30s', aborted: true }, enable: ['ORDERS'], for: '5m' },
      { name: 'slow', when: { eventLoopDelay: '200ms' }, enable: ['ORDERS'], for: '5m' },
      { name: 'crashes', when: { uncaught: true }, enable: ['ORDERS'], for: '5m' },
    ],
    announce: false,
    emit: { to: 'json', redact: ['*card*'] },
    adopt: {
      debug: true,
      pino: { bindings: ['name'] },
      winston: false,
      nest: true,
      debuglog: true,
      channels: false,
      otel: true,
      map: [
        { match: 'express:*', name: 'EXPRESS', description: 'routes' },
        { match: 'db:*', group: 'DB' },
        { match: 'chatty', exclude: true },
      ],
    },
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
  },
  {
    server: { host: '127.0.0.1', port: 0, behindTlsProxy: true },
    security: {
      level: 'standard',
      apiKeys: { file: 'keys.json' },
      jwt: { ...by('https://a.example'), algorithms: ['HS256'], secret: SECRET },
      introspection: {
        endpoint: 'https://login.example/introspect',
        clientId: 'shop',
        clientSecret: SECRET,
        ...by('https://login.example'),
      },
      tokens: {
        issuer: 'https://ops.example',
        audience: 'rdcp',
        signingKeyFile: 'signing.pem',
        accessTokenSeconds: 60,
        refreshTokenSeconds: 600,
      },
      tickets: TICKETS,
      authenticate: () => undefined,
    },
    tenancy: { isolation: 'process' },
    pull: { file: 'controls.jwt', every: '1m' },
    notify: { webhook: WEBHOOK },
  },
  {
    server: false,
    security: {
      jwt: { ...by('https://b.example'), algorithms: ['EdDSA'], publicKey: PUBLIC_KEY },
      tokens: { issuer: 'https://ops.example', audience: 'rdcp', secret: SECRET },
      tickets: TICKETS,
    },
    pull: { url: 'https://ops.example/controls.jwt' },
  },
  { security: { jwt: { ...by('https://c.example'), algorithms: ['ES256'], jwksUri } } },
];
