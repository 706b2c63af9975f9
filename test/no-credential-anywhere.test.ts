import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { context, DiagLogLevel, diag, logs, metrics, trace } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { InMemoryLogRecordExporter, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { generateApiKey, hashApiKey } from '../src/access/api-key.ts';
import { category } from '../src/api.ts';
import { RdcpInstrumentation, type RdcpInstrumentationConfig } from '../src/assembly/instrumentation.ts';
import { configFromEnvironment } from '../src/assembly/register/environment.ts';
import { PATHS, TOKEN_PATHS } from '../src/wire/constants.ts';
import { scrape } from './metrics/scrape.ts';
import { createAuthority, writePems } from './support/certificate.ts';
import { newFolder } from './support/folder.ts';
import { assertClean, inFull, marked, secret } from './support/secrets.ts';
import { inBoth, rows } from './support/tiers.ts';
import { getOverTls, http2Request, http2Session, type TlsAnswer } from './support/tls-client.ts';
import { until } from './support/until.ts';

/** A JWT of the configured issuer, or one that only looks so. */
function jwt(name: string, key: string, claims: object = {}): string {
  const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: 'https://id.example/', aud: 'rdcp', sub: 'ada', iat: now, exp: now + 300, scope: 'admin' };
  const head = text({ alg: 'HS256', typ: 'JWT' });
  const body = text({ ...payload, nonce: marked(`claim in ${name}`), ...claims });
  const signature = createHmac('sha256', key).update(`${head}.${body}`).digest('base64url');
  secret(`payload of ${name}`, body);
  secret(`signature of ${name}`, signature);
  return `${head}.${body}.${signature}`;
}

const sharedSecret = marked('shared secret of the issuer');
const keys = {
  admin: secret('generated API key', generateApiKey({ env: 'test', randomBytes })),
  own: marked('API key of the operators own making'),
};
const tokens = {
  good: jwt('a good token', sharedSecret),
  expired: jwt('an expired token', sharedSecret, { exp: 1 }),
  forged: jwt('a forged token', marked('key of a forger')),
  foreign: jwt('a token of another issuer', sharedSecret, { iss: 'https://other.example/' }),
};

const authority = createAuthority();
const server = authority.issue('localhost', { usage: 'server' });
const client = authority.issue('client', { usage: 'client' });
const signingKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
for (const [name, pem] of Object.entries({ server: server.key, client: client.key, signing: signingKey })) {
  secret(`private ${name} key`, pem.split('\n')[1] ?? '');
}

const folder = newFolder();
const tls = writePems({ certFile: server.cert, keyFile: server.key, clientCaFile: authority.cert });
const keysFile = join(folder, 'keys.json');
const signingKeyFile = join(folder, 'signing.pem');
const POINT = category('MARKED_POINT');

const CONFIG: RdcpInstrumentationConfig = {
  server: { port: 0, tls },
  security: {
    level: 'standard',
    apiKeys: { file: keysFile },
    jwt: { issuer: 'https://id.example/', audience: 'rdcp', algorithms: ['HS256'], secret: sharedSecret },
    mtls: { identities: [{ subject: 'CN=somebody else', userId: 'other', scopes: ['admin'] }] },
    tokens: { issuer: 'https://own.example/', audience: 'rdcp', signingKeyFile },
  },
  store: `sqlite:${join(folder, 'state.sqlite')}`,
  limits: { controlPerMinute: 10_000, readPerMinute: 10_000, anonymousPerMinute: 10_000 },
};

const keyRecord = (id: string, key: string) => ({ id, hash: hashApiKey(key), clientId: id, scopes: ['admin'] });

describe('no credential comes out again', () => {
  const told: string[] = [];
  const answers: string[] = [];
  const logExporter = new InMemoryLogRecordExporter();
  const spanExporter = new InMemorySpanExporter();
  const prometheus = new PrometheusExporter({ preventServerStart: true });
  const streams = [process.stdout, process.stderr] as const;
  const writes = streams.map((stream) => stream.write);
  const as = { ca: authority.cert, cert: client.cert, key: client.key };
  let instrumentation: RdcpInstrumentation;
  let sdk: NodeSDK;
  let url: string;

  before(async () => {
    writeFileSync(keysFile, JSON.stringify({ keys: [keyRecord('generated', keys.admin), keyRecord('own', keys.own)] }));
    writeFileSync(signingKeyFile, signingKey, { mode: 0o600 });
    const tell = (...args: unknown[]) => void told.push(args.map(inFull).join(' '));
    diag.setLogger(
      { error: tell, warn: tell, info: tell, debug: tell, verbose: tell },
      { logLevel: DiagLogLevel.ALL, suppressOverrideMessage: true },
    );
    instrumentation = new RdcpInstrumentation(CONFIG);
    sdk = new NodeSDK({
      instrumentations: [instrumentation],
      logRecordProcessors: [new SimpleLogRecordProcessor({ exporter: logExporter })],
      spanProcessors: [new SimpleSpanProcessor({ exporter: spanExporter })],
      metricReaders: [prometheus],
      autoDetectResources: false,
    });
    sdk.start();
    for (const stream of streams) {
      const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
      stream.write = ((...args: unknown[]) => {
        told.push(String(args[0]));
        return write(...args);
      }) as typeof stream.write;
    }
    url = (await instrumentation.listen()).url;
  });

  after(async () => {
    for (const [index, stream] of streams.entries()) stream.write = writes[index] as typeof stream.write;
    await instrumentation.close();
    await sdk.shutdown();
    for (const api of [trace, metrics, logs, context, diag]) api.disable();
  });

  inBoth('whatever is sent, and wherever in a request it stands', async (t) => {
    let session = await http2Session(t, url, as);
    // After ten refusals the server ends a session, and refuses a stream that was on its way then.
    const request = async (headers: OutgoingHttpHeaders, body?: string): Promise<TlsAnswer> => {
      if (session.closed) session = await http2Session(t, url, as);
      try {
        return await http2Request(session, headers, body);
      } catch (error) {
        assert.match(String(error), /NGHTTP2_REFUSED_STREAM/);
        session.destroy();
        return request(headers, body);
      }
    };
    const send = async (headers: OutgoingHttpHeaders, body?: string) => {
      const answer = await request(headers, body);
      answers.push(shown(answer));
      return answer;
    };

    await send({ ':path': PATHS.control, ':method': 'POST', 'x-rdcp-api-key': keys.admin, ...JSON_TYPE }, ENABLE);
    POINT.debug('said');
    POINT.span('done', () => undefined);

    const credentials = credentialHeaders();
    const paths = [...Object.values(PATHS), ...Object.values(TOKEN_PATHS), '/rdcp/v1/nothing', '/rdcp/v2/status'];
    for (const [at, path] of paths.entries()) {
      for (const [name, headers] of rows(Object.entries(credentials), at)) {
        const query = `?access_token=${marked(`token in the URL of ${path} with ${name}`)}`;
        // A stream of events does not end.
        const method = path === PATHS.events ? 'HEAD' : 'GET';
        await send({ ':path': path + query, ':method': method, ...headers });
        await send({ ':path': path, ':method': 'POST', ...headers, ...JSON_TYPE }, ENABLE);
        await send({ ':path': path, ':method': 'DELETE', ...headers });
        assert.equal((await request({ ':path': path, ':method': 'HEAD', ...headers })).text, '');
      }
    }
    for (const body of wrongBodies()) {
      const headers = { ':path': PATHS.control, ':method': 'POST', 'x-rdcp-api-key': keys.admin };
      await send({ ...headers, ...JSON_TYPE }, body);
      await send({ ...headers, 'content-type': 'text/plain' }, body);
      await send({ ...headers, ':path': TOKEN_PATHS.token, ...FORM_TYPE }, body);
    }
    const parameter = marked('password in a parameter');
    for (const name of ['limit', 'cursor', 'since', 'action', 'client', 'password']) {
      await send({ ':path': `${PATHS.audit}?${name}=${parameter}`, 'x-rdcp-api-key': keys.admin });
    }
    for (const answer of answers) assertClean('an answer', answer);
  });

  inBoth('tokens are handed only to the client that asks for them', async (t) => {
    const session = await http2Session(t, url, as);
    const form = async (path: string, fields: Record<string, string>, headers: OutgoingHttpHeaders = {}) =>
      http2Request(
        session,
        { ':path': path, ':method': 'POST', ...FORM_TYPE, ...headers },
        String(new URLSearchParams(fields)),
      );
    const grant = async (fields: Record<string, string>, headers?: OutgoingHttpHeaders) => {
      const { status, text } = await form(TOKEN_PATHS.token, fields, headers);
      assert.equal(status, 200, text);
      const { access_token, refresh_token } = JSON.parse(text);
      for (const token of [access_token, refresh_token]) {
        if (token !== undefined) secret(`issued token that ends in ${token.slice(-8)}`, token.split('.').at(-1));
      }
      return { access_token, refresh_token } as { access_token: string; refresh_token: string };
    };
    const refused = async (fields: Record<string, string>, headers?: OutgoingHttpHeaders) => {
      const answer = await form(TOKEN_PATHS.token, fields, headers);
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
      assertClean('a refusal', shown(answer));
    };

    const basic = `Basic ${secret('Basic header', Buffer.from(`own:${keys.own}`).toString('base64'))}`;
    await grant({ grant_type: 'client_credentials' }, { authorization: basic });
    await grant({ grant_type: 'client_credentials', client_id: 'own', client_secret: keys.own });
    const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
    const type = 'urn:ietf:params:oauth:token-type:access_token';
    const begun = await grant({ grant_type: exchange, subject_token: keys.admin, subject_token_type: type });
    const renewed = await grant({ grant_type: 'refresh_token', refresh_token: begun.refresh_token });
    // Used a second time: the session is over.
    await refused({ grant_type: 'refresh_token', refresh_token: begun.refresh_token });
    await refused({ grant_type: 'refresh_token', refresh_token: renewed.refresh_token });
    await refused({ grant_type: 'refresh_token', refresh_token: marked('refresh token that was never issued') });
    await refused({ grant_type: 'client_credentials', client_id: 'own', client_secret: marked('wrong client secret') });
    await refused({ grant_type: exchange, subject_token: tokens.forged, subject_token_type: type });
    await refused({ grant_type: 'password', username: 'ada', password: marked('password of a grant') });
    const revoked = await form(TOKEN_PATHS.revoke, { token: renewed.access_token });
    assertClean('the answer to a revocation', shown(revoked));
    const status = await http2Request(session, {
      ':path': PATHS.status,
      authorization: `Bearer ${renewed.access_token}`,
    });
    assert.equal(status.status, 401);
    assertClean('a refusal', shown(status));
  });

  inBoth('what HTTP/1.1 alone allows: a password in the target, and requests that are none', async () => {
    const password = marked('password in a URL');
    for (const bytes of [
      `GET https://ada:${password}@localhost${PATHS.status} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      `GET ${PATHS.status} HTTP/1.1\r\nHost: ada:${password}@localhost\r\nConnection: close\r\n\r\n`,
      `GET ${PATHS.status} HTTP/1.1\r\nHost: localhost\r\nX-RDCP-API-Key : ${password}\r\nConnection: close\r\n\r\n`,
      `CONNECT ada:${password}@elsewhere:443 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      `X-RDCP-API-Key: ${password}\r\n\r\n`,
    ]) {
      const answer = await sendRaw(bytes);
      assert.match(answer, /^HTTP\/1\.1 4/);
      assertClean('an answer', answer);
    }
  });

  inBoth('files that are broken while they are in use, and connections that are refused', async () => {
    writeFileSync(keysFile, `${marked('key in a broken file')}: ${keys.own}`);
    writeFileSync(
      signingKeyFile,
      `-----BEGIN PRIVATE KEY-----\n${marked('broken signing key')}\n-----END PRIVATE KEY-----\n`,
    );
    writeFileSync(
      tls.keyFile,
      `-----BEGIN PRIVATE KEY-----\n${marked('broken server key')}\n-----END PRIVATE KEY-----\n`,
    );
    await assert.rejects(getOverTls(url, { ca: authority.cert }));
    const broken = [/keys file/, /signing/i, /server\.tls\.keyFile/];
    const isTold = () => broken.every((problem) => told.some((line) => problem.test(line)));
    await until('each broken file is reported', isTold);
  });

  inBoth('configurations that are refused, and stores that cannot be reached', async () => {
    const short = secret('short secret', 'MARKED-short');
    const password = marked('password of a store');
    const security = CONFIG.security ?? {};
    for (const wrong of [
      { security: { jwt: { issuer: 'i', audience: 'a', algorithms: ['HS256'], secret: short } } },
      { security: { ...security, tokens: { issuer: 'i', audience: 'a', secret: short } } },
      { security: { apiKeys: [{ id: 'k', hash: short, clientId: 'c', scopes: ['admin'] }] } },
      { security: { apiKeys: [{ ...keyRecord('k', keys.own), secret: short }] } },
      { store: `redis://user:${password}@` },
      { store: `postgres://user:${password}@host` },
    ]) {
      const config = { ...CONFIG, ...wrong } as RdcpInstrumentationConfig;
      assert.throws(
        () => new RdcpInstrumentation(config),
        (error) => {
          told.push(inFull(error));
          return true;
        },
      );
    }
    assert.throws(
      () => configFromEnvironment({ RDCP_SERVER_API_KEY: short }, () => ''),
      (error) => {
        told.push(inFull(error));
        return true;
      },
    );
    const unreachable = new RdcpInstrumentation({
      ...CONFIG,
      server: { port: 0 },
      security: { apiKeys: [keyRecord('k', keys.own)] as never },
      store: `redis://user:${password}@127.0.0.1:1`,
    });
    const { url: plain } = await unreachable.listen();
    for (const path of [PATHS.health, PATHS.audit]) {
      const response = await fetch(plain + path, { headers: { 'X-RDCP-API-Key': keys.own } });
      answers.push(await response.text());
    }
    await unreachable.close();
  });

  inBoth(
    'not in answers, log records, spans, metrics, diagnostics, on the console, in the trail, nor in any file',
    async () => {
      const records = logExporter
        .getFinishedLogRecords()
        .map(({ body, attributes, eventName }) => inFull({ body, attributes, eventName }));
      const spans = spanExporter
        .getFinishedSpans()
        .map(({ name, attributes, events }) => inFull({ name, attributes, events }));
      const text = await scrape(prometheus);
      const files = () =>
        readdirSync(folder)
          .filter((file) => file.startsWith('state.sqlite'))
          .map((file) => readFileSync(join(folder, file), 'latin1'));

      // What is searched is what was meant to be: each holds something of the requests above.
      assert.ok(records.some((record) => record.includes('rdcp.audit') && record.includes('denied')));
      assert.ok(records.some((record) => record.includes('said')));
      assert.ok(spans.some((span) => span.includes('done')));
      assert.match(text, /rdcp_auth_failures_total\{.*reason="invalid_key"/);
      assert.ok(files().some((file) => file.includes('token.issue') && file.includes('MARKED_POINT')));
      assert.ok(told.length > 5);

      for (const [where, texts] of Object.entries({ records, spans, metrics: [text], told, answers, files: files() })) {
        for (const one of texts) assertClean(where, one);
      }
      // What is written at the end is written now.
      await instrumentation.close();
      for (const file of files()) assertClean('the closed store', file);
      for (const line of told) assertClean('what was told at the end', line);
    },
  );

  async function sendRaw(bytes: string): Promise<string> {
    const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', servername: 'localhost', ...as });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.once('secureConnect', () => socket.write(bytes));
    await new Promise((resolve) => socket.once('close', resolve));
    return Buffer.concat(chunks).toString();
  }
});

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const ENABLE = JSON.stringify({ action: 'enable', categories: 'MARKED_POINT', options: { reason: 'to see it' } });

/** Credentials good and bad, in the places for them and in others. */
function credentialHeaders(): Record<string, OutgoingHttpHeaders> {
  const bearer = Object.entries(tokens).map(([name, token]) => [`${name} token`, { authorization: `Bearer ${token}` }]);
  return {
    ...Object.fromEntries(bearer),
    'generated key': { 'x-rdcp-api-key': keys.admin },
    'own key': { 'x-rdcp-api-key': keys.own },
    'wrong key': { 'x-rdcp-api-key': marked('wrong key') },
    'key with a typo': { 'x-rdcp-api-key': secret('key with a typo', `${keys.admin.slice(0, -1)}!`) },
    'key twice': { 'x-rdcp-api-key': [marked('first key'), marked('second key')] },
    'key and token': { 'x-rdcp-api-key': keys.admin, authorization: `Bearer ${tokens.good}` },
    'key as token': { authorization: `Bearer ${keys.admin}` },
    'token as key': { 'x-rdcp-api-key': tokens.good },
    'token without a scheme': { authorization: marked('token without a scheme') },
    password: {
      authorization: `Basic ${secret('password', Buffer.from(`ada:${marked('plain password')}`).toString('base64'))}`,
    },
    cookie: { cookie: `session=${marked('cookie')}`, 'proxy-authorization': `Basic ${marked('password for a proxy')}` },
    'key in another header': { 'x-api-key': marked('key in another header'), 'user-agent': 'test' },
    'key as version': { 'x-rdcp-protocol': marked('key as version') },
    'key as method': { 'x-rdcp-auth-method': marked('key as method'), 'x-rdcp-api-key': keys.admin },
    'key as media type': { accept: marked('key as media type') },
    'key with a space as client': { 'x-rdcp-client-id': marked('key as client').replace('.', ' ') },
  };
}

function wrongBodies(): string[] {
  const password = marked('password in a body');
  return [
    password,
    `{"action":"enable","categories":"${password}"`,
    JSON.stringify({ action: password, categories: 'MARKED_POINT' }),
    JSON.stringify({ action: 'enable', categories: 'MARKED_POINT', password }),
    JSON.stringify({ action: 'enable', categories: 'MARKED_POINT', options: { duration: password } }),
    JSON.stringify({ action: 'enable', categories: 'MARKED_POINT', options: { token: password } }),
    JSON.stringify({ action: 'enable', categories: password }),
    JSON.stringify({ protocol: password, action: 'status' }),
    `grant_type=${password}&client_secret=${password}`,
    `grant_type=client_credentials&client_id=own&client_secret=${password}&client_secret=${password}`,
    `grant_type=client_credentials&client_id=${password}&client_secret=${keys.own}`,
  ];
}

function shown({ status, headers, text }: TlsAnswer): string {
  return inFull({ status, headers, text });
}
