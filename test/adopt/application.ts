import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { createRdcpClient } from '../../src/client.ts';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { SERVICE_ENV } from '../support/program-env.ts';
import { until } from '../support/until.ts';

interface Run {
  readonly config?: object;
  readonly preload?: readonly string[];
  readonly env?: Record<string, string>;
}

/** A folder of an application, with files by their names, and the packages of this project. */
export function folderOf(t: TestContext, files: Readonly<Record<string, string | object>>): string {
  const cwd = newFolder(t);
  symlinkSync(resolve('node_modules'), join(cwd, 'node_modules'));
  write(cwd, files);
  return cwd;
}

function write(cwd: string, files: Readonly<Record<string, string | object>>): void {
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(cwd, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/**
 * Installs packages in a new folder, by the arguments of `npm install`. OpenTelemetry is that of this project where they bring
 * none along.
 */
export async function installInto(
  cwd: string,
  packages: readonly string[],
  files: Readonly<Record<string, string | object>> = {},
): Promise<string> {
  write(cwd, { 'package.json': { private: true }, ...files });
  const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps'];
  await promisify(execFile)('npm', ['install', ...flags, ...packages], { cwd });
  const api = join(cwd, 'node_modules/@opentelemetry');
  if (!existsSync(api)) symlinkSync(resolve('node_modules/@opentelemetry'), api);
  return cwd;
}

/** Runs an application under `register` in a folder of its own, with the packages of this project. */
export async function run(
  t: TestContext,
  app: string,
  { config = {}, preload = [built('register.js')], env = {} }: Run = {},
) {
  const cwd = folderOf(t, {
    'app.mjs': app,
    'rdcp.json': { announce: false, ...config },
    'otel-hook.mjs': `import { register } from 'node:module'; register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);`,
  });
  const args = preload.flatMap((file) => ['--import', file]);
  const options = { cwd, timeout: 60_000, env: { ...SERVICE_ENV, ...env } };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, 'app.mjs'], options);
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('rdcp: remote control on'));
  return { stdout, stderr: lines.map((line) => line.replace(/^\S+ /, '')) };
}

/** A service under `register` that says on which port it serves: what it writes, and operators of it. */
export async function serveApplication(
  t: TestContext,
  {
    cwd,
    file = 'app.mjs',
    args = [],
    env = {},
  }: { cwd: string; file?: string; args?: readonly string[]; env?: Record<string, string> },
) {
  const child = spawn(process.execPath, ['--import', built('register.js'), file, ...args], {
    cwd,
    env: { ...SERVICE_ENV, ...env },
  });
  const closed = once(child, 'close');
  t.after(() => {
    child.kill('SIGKILL');
    return closed;
  });
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output.text += text;
    });
  }
  const found = (pattern: RegExp): Promise<string> =>
    until(`${pattern} is written`, () => {
      const match = pattern.exec(output.text);
      if (match === null && child.exitCode !== null) throw new Error(output.text);
      return match?.[1] ?? match?.[0];
    });
  const port = await found(/serves (\d+)/);
  const baseUrl = await found(/remote control on (\S+?)[\s,;]/);
  const apiKey = readFileSync(join(cwd, '.rdcp/dev-key'), 'utf8').trim();
  const operatorOf = (tenantId?: string) =>
    createRdcpClient({ baseUrl, apiKey, ...(tenantId !== undefined && { tenantId }) });
  /** The text of an answer. @param tenant whose request it is */
  const request = async (path: string, tenant?: string) =>
    (
      await fetch(`http://127.0.0.1:${port}/${path}`, { headers: tenant === undefined ? {} : { 'x-tenant': tenant } })
    ).text();
  return { output, found, operatorOf, request };
}

interface Switched {
  /** Of a category that is off. */
  readonly name: string;
  /** Makes it write lines while it is on. @param tenant whose work it is */
  use(tenant?: string): Promise<unknown>;
  /** How many lines it has written so far. */
  written(): number;
  /** One for whom it is switched apart, and another. */
  readonly tenants: readonly string[];
}

/** Asserts that a category is switched and counted for everybody, and for one tenant alone. */
export async function assertSwitched(
  operatorOf: (tenantId?: string) => ReturnType<typeof createRdcpClient>,
  { name, use, written, tenants }: Switched,
): Promise<void> {
  const listed = async (tenantId?: string) => {
    const { categories } = await operatorOf(tenantId).discovery();
    const found = categories.find((each) => each.name === name);
    assert.ok(found, `${name} is not among ${categories.map((each) => each.name)}`);
    return found;
  };
  const totalOf = async (tenantId?: string) => (await listed(tenantId)).metrics.callsTotal;
  const totals = () => Promise.all(tenants.map(totalOf));
  const lines = async (tenant?: string) => {
    const before = written();
    await use(tenant);
    return written() - before;
  };
  const { enabled, otelrdcp_source: source } = await listed();
  assert.deepEqual([enabled, typeof source?.kind], [false, 'string'], name);
  assert.equal(await lines(), 0, `${name} is off`);
  const from = written();
  await operatorOf().enable(name);
  assert.ok((await lines()) > 0, `${name} is on`);
  await operatorOf().disable(name);
  await use();
  assert.equal(await lines(), 0, `${name} is off again`);
  assert.equal(await totalOf(), written() - from, `${name} is counted`);
  const [first] = tenants;
  if (first === undefined) return;
  for (const tenant of [...tenants, undefined]) assert.equal(await lines(tenant), 0, `${name} is off for ${tenant}`);
  const before = await totals();
  const since = written();
  await operatorOf(first).enable(name);
  for (const tenant of [...tenants, undefined])
    assert.equal((await lines(tenant)) > 0, tenant === first, `${name} for ${tenant}`);
  await operatorOf(first).reset(name);
  assert.equal(await lines(first), 0, `${name} is off for ${first} again`);
  const counted = (await totals()).map((total, at) => total - before[at]!);
  assert.deepEqual(counted, [written() - since, ...tenants.slice(1).map(() => 0)], `${name} is counted for ${first}`);
}
