import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const DOCUMENT = readFileSync(join(import.meta.dirname, '../../docs/behind-a-proxy.md'), 'utf8');

/** The host name of the document. */
export const HOST = 'debug.example.com';

/** The blocks of one language in a section of the document, so that what is tested is what is read. */
export function blocksOf(section: string, language: string): string[] {
  const [, text = ''] = DOCUMENT.split(`\n## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  return [...own.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, block]) => block ?? '');
}

export function blockOf(section: string, language: string): string {
  const [block] = blocksOf(section, language);
  return block ?? assert.fail(`the section ${section} has a block of ${language}`);
}

/** The text with each of these replaced, all of which must be in it. */
export function adapted(text: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((result, [from, to]) => {
    assert.ok(result.includes(from), `the recipe holds ${from}`);
    return result.replaceAll(from, to);
  }, text);
}

/** With all scopes. */
export const KEY = 'k'.repeat(40);
export const ADMIN = { 'X-RDCP-API-Key': KEY };

export interface Service {
  readonly port: number;
  /** The newest entries of the trail, read from the service itself. */
  audit(): Promise<AuditResponse['entries']>;
}

/**
 * The service of a recipe.
 * @param replacements of what the document cannot know
 */
export async function startService(
  t: TestContext,
  section: string,
  replacements: readonly (readonly [string, string])[],
  changes: Pick<RdcpConfig, 'limits' | 'health' | 'store' | 'console' | 'categories'> = {},
): Promise<Service> {
  const port = await freePort();
  const keys = join(newFolder(t), 'keys.json');
  writeFileSync(
    keys,
    JSON.stringify({ keys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin'] }] }),
  );
  const written = JSON.parse(adapted(blockOf(section, 'json'), replacements));
  const rdcp = createRdcp({
    ...written,
    ...changes,
    server: { ...written.server, port },
    security: { ...written.security, apiKeys: { file: keys } },
  });
  t.after(() => rdcp.close());
  await rdcp.listen();
  return {
    port,
    audit: async () => {
      const response = await fetch(`http://127.0.0.1:${port}/rdcp/v1/audit`, { headers: ADMIN });
      return ((await response.json()) as AuditResponse).entries;
    },
  };
}

export interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The loopback address that the client has. @default '127.0.0.2' */
  readonly from?: string;
}

export interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A request to a proxy that ends TLS, by the name of the document, from an address of the client's own. */
export function askOverTls(
  port: number,
  ca: string,
  { method = 'GET', path = '/rdcp/v1/health', headers = {}, body = '', from = '127.0.0.2' }: Asked = {},
): Promise<Told> {
  const { promise, resolve, reject } = Promise.withResolvers<Told>();
  const sent = request(
    {
      ...{ host: '127.0.0.1', port, ca, servername: 'localhost' },
      path,
      method,
      localAddress: from,
      agent: false,
      headers: {
        Host: HOST,
        ...(body !== '' && { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }),
        ...headers,
      },
    },
    async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    },
  );
  sent.once('error', reject).end(body);
  return promise;
}

/** Waits until somebody listens there. */
export async function listening(port: number): Promise<void> {
  await until(`port ${port} to be served`, () => {
    const { promise, resolve } = Promise.withResolvers<true | undefined>();
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(undefined));
    return promise.finally(() => socket.destroy());
  });
}
