import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { runWithAttributes } from '../../src/api.ts';
import { createRdcp } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { blocksOf } from './blocks.ts';

/**
 * Code of the documents runs as it stands, with `rdcp` of this build. Installing, starting applications and clusters are left
 * out: the tests of the package do that.
 */
const PREAMBLE = `set -eu -o pipefail
rdcp() { '${process.execPath}' '${built('cli/main.js')}' "$@"; }
npx() { shift; case "$1" in start | demo) ;; *) rdcp "$@" ;; esac; }
docker() { shift 4; rdcp "$@"; }
kubectl() { :; }
aws() { :; }
npm() { :; }
node() { :; }
`;

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs shell code, until it has ended or has written what is enough. */
function shell(code: string, cwd: string, env: NodeJS.ProcessEnv = {}, enough?: RegExp, typed = ''): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const child = spawn('bash', ['-c', PREAMBLE + code], { cwd, env: { ...process.env, ...env }, detached: true });
  // A command may end before it has read it.
  child.stdin.on('error', () => undefined).end(typed);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    if (enough?.test(stdout)) process.kill(-child.pid!);
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  child.on('close', (code) => resolve({ code, stdout, stderr }));
  return promise;
}

/** The statements of shell code, each in one line. */
const statementsOf = (code: string) =>
  code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

const isSilent = / (?:keys (?:create|list|revoke) |demo$)/;
const isCommand = /^(?:RDCP_API_KEY=\$KEY |docker exec -it shop |npx )?\S*rdcp (\w+)/;

/** What each command shows; one that runs until it is interrupted is ended when it has. */
const SHOWN_BY_COMMAND: Readonly<Record<string, RegExp>> = {
  failures: /^ +# +WHEN|^No work has failed/m,
  login: /Logged in to .*; profile shop/,
  list: /^(?:shop +)?(?:D(?:ATABASE|B_POOL) +(?:o|rec)|NOISY +quiet)/m,
  forecast: /^DATABASE /m,
  tail: /(?:DATABASE|ORDERS) query done/,
  explain: /^ {2}DATABASE was called \d+ times in 3 s/m,
  request: /^curl -H 'baggage: rdcp\.debug=/m,
  enable: / on (?:from \w+ up )?for /,
  quieten: /^NOISY quiet below warn for 1h/m,
  disable: /^DATABASE .*off/m,
  reset: /DATABASE/,
  end: /DATABASE|NOISY/,
  watch: /^\S+ D\w+ on/m,
  approve: /No change waits/,
  audit: / enable /,
  console: /\/rdcp\/console\//,
  mcp: /^claude mcp add rdcp -- npx /m,
};

/** What each request shows, by what it asks for. */
const SHOWN_BY_REQUEST: readonly (readonly [RegExp, RegExp])[] = [
  [/:9464\/metrics/, /^rdcp_debug_calls_total\{rdcp_category_name="DATABASE"/m],
  [/\/openapi/, /"openapi":"3\.1/],
  [/\/discovery/, /"name":"DATABASE"/],
  [/"action":"enable"/, /"otelrdcp_fleet"|"status":"success"/],
  [/\/audit/, /"action":"enable"/],
  [/\/forecast/, /"callsPerSecond"/],
  [/\/failures/, /"failures":\[/],
  [/\/tail/, /event: start\n(data: .*\n)\nevent: open\n\1/],
  [/\/events/, /event: snapshot\n/],
];

/** What a statement has to write; `undefined` if it is enough that it succeeds. */
function shownBy(statement: string): RegExp | undefined {
  if (statement.startsWith('curl')) {
    const [, shows] = SHOWN_BY_REQUEST.find(([asks]) => asks.test(statement)) ?? assert.fail(statement);
    return shows;
  }
  const [, name = ''] = isCommand.exec(statement) ?? [];
  if (name === '' || isSilent.test(statement)) return undefined;
  return SHOWN_BY_COMMAND[name] ?? assert.fail(statement);
}

const lasts = (statement: string) =>
  /^(?:curl -N|rdcp (?:tail|watch)|npx (?:rdcp|opentelemetry-instrumentation-rdcp) (?:tail|watch)) /.test(
    `${statement} `,
  );

describe('shell code of the documents, page by page and in the order of the page', () => {
  const operator = makeKey({ scopes: ['admin'] });
  const folder = newFolder();
  let provider: MeterProvider;
  let service: ReturnType<typeof createRdcp>;
  let emitting: NodeJS.Timeout;
  let port = 0;
  /** Other addresses of the service, by the names of their profiles. */
  const doors = new Map<string, Server>();
  let metricsPort = 0;
  before(async () => {
    metricsPort = await freePort();
    provider = new MeterProvider({ readers: [new PrometheusExporter({ host: '127.0.0.1', port: metricsPort })] });
    metrics.setGlobalMeterProvider(provider);
    service = createRdcp({
      ...{ server: { port: 0 }, announce: false, emit: { to: () => undefined } },
      tenancy: { isolation: 'organization' },
      recorder: { categories: ['*'] },
      security: {
        apiKeys: [operator.record],
        tokens: {
          issuer: 'https://ops.internal:9465',
          audience: 'jobs',
          secret: 'of the documents, for 32 bytes and more',
        },
      },
    });
    const categories = ['DATABASE', 'DB_POOL', 'CACHE', 'ORDERS', 'NOISY'].map((name) => service.category(name));
    emitting = setInterval(() => {
      for (const tenant of ['acme', 'other'])
        runWithAttributes({ 'user.id': 42, 'url.path': '/checkout' }, () =>
          service.runWithTenant(tenant, () => {
            for (const each of categories) each.debug('query done', { rows: 1200, table: 'orders' });
          }),
        );
    }, 20);
    port = Number(new URL((await service.listen()).url).port);
    for (const name of ['cart', 'pay']) {
      const door = createServer((socket) => {
        const inside = connect(port, '127.0.0.1');
        for (const end of [socket, inside]) end.on('error', () => undefined);
        socket.pipe(inside).pipe(socket);
      });
      doors.set(name, door.listen(0, '127.0.0.1'));
      await once(door, 'listening');
    }
  });
  after(async () => {
    clearInterval(emitting);
    for (const door of doors.values()) door.close();
    await service.close();
    await provider.shutdown();
    metrics.disable();
  });

  /** The folder of a service with its development key, which is the operator's; on a laptop there is none. */
  function folderOf(statements: readonly string[]): string {
    const cwd = mkdtempSync(join(folder, 'page-'));
    if (statements.some((line) => line.startsWith('rdcp login'))) return cwd;
    mkdirSync(join(cwd, '.rdcp'));
    writeFileSync(join(cwd, '.rdcp', 'dev-key'), operator.key, { mode: 0o600 });
    return cwd;
  }

  /** Logs in to further services, and puts all in a group. */
  function addServices(cwd: string): void {
    const file = join(cwd, 'rdcp', 'profiles.json');
    const { profiles } = JSON.parse(readFileSync(file, 'utf8'));
    for (const [name, door] of doors) {
      profiles[name] = { url: `http://127.0.0.1:${(door.address() as AddressInfo).port}`, apiKey: operator.key };
    }
    writeFileSync(file, JSON.stringify({ profiles, groups: { checkout: ['shop', 'cart', 'pay'] } }), { mode: 0o600 });
  }

  /** A statement with the addresses of this test, and shorter times. */
  const adapted = (statement: string) =>
    statement
      .replace(/(?:localhost|127\.0\.0\.1):9465/, `127.0.0.1:${port}`)
      .replace('localhost:9464', `127.0.0.1:${metricsPort}`)
      .replace(/--url \S+/, `--url http://127.0.0.1:${port}`)
      .replace('"10s"', '"1s"')
      .replace(/(rdcp forecast \w+)(?: --for 10s)?/, '$1 --for 1s')
      // A measurement of ten seconds; test/package/installed/commands.ts has one.
      .replace('--forecast', '--yes')
      .replace(/ ID$/, ' "$(rdcp keys list --file keys.json -o json | grep -o "key-[0-9a-f]*" | head -1)"');

  const pages = Map.groupBy(
    blocksOf('sh').filter(({ document }) => document !== 'docs/command-line.md'),
    ({ document }) => document,
  );
  for (const [document, blocks] of pages) {
    const statements = blocks.flatMap(({ code }) => statementsOf(code)).filter((line) => !line.includes('conformance'));
    it(`${document}: ${statements.length} statements`, async () => {
      const cwd = folderOf(statements);
      const env: Record<string, string> = { XDG_CONFIG_HOME: cwd, DISPLAY: '', RDCP_PORT: String(port) };
      // After a login nothing but the profile says where the service is.
      if (statements.some((line) => line.startsWith('rdcp login'))) delete env.RDCP_PORT;
      for (const statement of statements) {
        const shows = shownBy(statement);
        if (/^rdcp .* (?:-s|--all-services)\b/.test(statement)) addServices(cwd);
        const [, variable] = /^([A-Z]+)=\$\(/.exec(statement) ?? [];
        const here = adapted(statement) + (variable === undefined ? '' : `\nprintf %s "$${variable}"`);
        const enough = lasts(statement) ? shows : undefined;
        const typed = statement.startsWith('rdcp login') ? operator.key : '';
        const { code, stdout, stderr } = await shell(here, cwd, env, enough, typed);
        if (shows !== undefined) assert.match(stdout + stderr, shows, `${statement}\n${stdout}${stderr}`);
        if (enough === undefined) assert.equal(code, 0, `${statement}\n${stderr}`);
        // A key that the page has made is not in the keys file of this service.
        if (variable !== undefined) env[variable] = isSilent.test(statement) ? operator.key : stdout;
      }
    });
  }

  it('and there are some', () => assert.ok(pages.size >= 12, `${pages.size}`));
});
