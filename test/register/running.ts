import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { portOf } from '../support/listening.ts';
import { outputOf } from '../support/output.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';

export const KEY = 'a-secret-of-thirty-two-characters';
/** The API as this package finds it: the application runs in a directory of its own. */
export const API = import.meta.resolve('@opentelemetry/api');

/** Keeps an application waiting until its stdin ends. */
export const WAIT = 'process.stdin.resume();';

interface Run {
  readonly env?: Record<string, string>;
  readonly app: string;
  /** Options of Node before the application's file. @default `--import` of this package's register */
  readonly options?: readonly string[];
  /** What is in the file of RDCP_CONFIG. */
  readonly config?: object;
  /** Other files of the directory, by path. @default {} */
  readonly files?: Readonly<Record<string, string>>;
}

export const REGISTER = built('register.js');

/** Runs an application in an empty directory, under `--import register` if nothing else is said. */
export async function start(
  t: TestContext,
  { env = {}, app, options = ['--import', REGISTER], config, files = {} }: Run,
) {
  const cwd = newFolder(t);
  const metricsPort = await freePort();
  const file = join(cwd, 'app.mjs');
  writeFileSync(file, `import { category } from '${built('api.js')}';\n${app}`);
  const configured = config && { 'rdcp.json': JSON.stringify(config) };
  for (const [path, text] of Object.entries({ ...files, ...configured })) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const child = spawn(process.execPath, [...options, file], {
    cwd,
    env: {
      ...PROGRAM_ENV,
      RDCP_PORT: '0',
      OTEL_EXPORTER_PROMETHEUS_PORT: String(metricsPort),
      ...(config && { RDCP_CONFIG: 'rdcp.json' }),
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.after(() => {
    child.kill('SIGKILL');
  });
  const output = outputOf(child);
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    child,
    output,
    closed,
    cwd,
    metricsPort,
    until: (condition: () => boolean) => until(condition, child, output),
  };
}

/** A port that another server has, which answers whatever it is asked. */
export const takenPort = (t: TestContext, host: string) =>
  portOf(
    t,
    createServer((_req, res) => res.end('{}')),
    host,
  );

export async function until(condition: () => boolean, child: ChildProcess, output: { stderr: string }): Promise<void> {
  for (const end = Date.now() + 60_000; !condition(); ) {
    assert.equal(child.exitCode, null, output.stderr);
    assert.ok(Date.now() < end, `timed out; stderr: ${output.stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits for the line with the addresses. */
export async function announced({ output, until }: Awaited<ReturnType<typeof start>>) {
  await until(() => /remote control on|metrics on|attached to/.test(output.stderr) && output.stderr.endsWith('\n'));
  return {
    url: /remote control on (http:\/\/[^,\s]+)/.exec(output.stderr)?.[1] ?? '',
    metrics: /metrics on (http:\/\/[^,\s]+)/.exec(output.stderr)?.[1] ?? '',
  };
}

export async function enable(url: string, key = KEY): Promise<number> {
  const response = await fetch(`${url}/rdcp/v1/control`, {
    method: 'POST',
    headers: { 'X-RDCP-API-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ action: 'enable', categories: ['PAYMENTS'] }),
  });
  return response.status;
}

/** An application that makes debug calls in a span until its stdin ends. */
export const DEBUG_IN_A_SPAN = `
  import { trace } from '${API}';
  const payments = category('PAYMENTS');
  const timer = setInterval(() => trace.getTracer('app').startActiveSpan('request', (span) => {
    payments.debug('charging', { order: 42 });
    span.end();
  }), 20);
  process.stdin.resume();
  process.stdin.once('end', () => clearInterval(timer));`;
