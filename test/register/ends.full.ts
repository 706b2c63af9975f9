import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { built, ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { openReceiver } from './otlp-receiver.ts';

interface Program {
  /** Source of the ES module, or of CommonJS. */
  readonly app: string;
  readonly commonJs?: true;
  readonly options?: readonly string[];
  readonly env?: Record<string, string>;
  /** Written to stdin after its first output; `undefined` leaves stdin open. */
  readonly input?: string;
  /** Sent after its first output. */
  readonly signal?: NodeJS.Signals;
  /** Closes its stdout after the first output. */
  readonly closesStdout?: true;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  /** Without our own lines. */
  readonly stderr: string;
}

const UNDER_REGISTER = ['--import', built('register.js')];

/** Runs a program in a folder of its own, with the packages of this project. */
function runToEnd(t: TestContext, program: Program, register: boolean): Promise<Ended> {
  const cwd = newFolder(t);
  symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
  const file = program.commonJs ? 'app.cjs' : 'app.mjs';
  writeFileSync(join(cwd, file), program.app);
  const child = spawn(process.execPath, [...(register ? UNDER_REGISTER : []), ...(program.options ?? []), file], {
    cwd,
    env: { ...PROGRAM_ENV, RDCP_PORT: '0', OTEL_EXPORTER_PROMETHEUS_PORT: '0', ...program.env },
  });
  t.after(() => child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stderr.on('data', (text) => {
    output.stderr += text;
  });
  child.stdin.on('error', () => {});
  child.stdout.once('data', () => {
    if (program.signal !== undefined) child.kill(program.signal);
    if (program.input !== undefined) child.stdin.end(program.input);
    if (program.closesStdout) child.stdout.destroy();
  });
  child.stdout.on('data', (text) => {
    // How much came before it was closed depends on the machine.
    if (!program.closesStdout) output.stdout += text;
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      const stderr = output.stderr.replaceAll(/^rdcp: .*\n/gm, '').replaceAll(cwd, '.');
      resolve({ code, signal, stdout: output.stdout, stderr });
    });
  });
}

/** Asserts that each program ends under `register` as it ends without, and returns how. */
async function endAlike<Name extends string>(t: TestContext, programs: Readonly<Record<Name, Program>>) {
  const entries = Object.entries<Program>(programs);
  const ended = {} as Record<Name, Ended>;
  const runOne = async ([name, program]: [string, Program]) => {
    const [bare, ours] = await Promise.all([runToEnd(t, program, false), runToEnd(t, program, true)]);
    assert.deepEqual(ours, bare, name);
    ended[name as Name] = ours;
  };
  // A few at a time.
  const next = async (): Promise<void> => {
    for (let entry = entries.shift(); entry !== undefined; entry = entries.shift()) await runOne(entry);
  };
  await Promise.all([next(), next(), next(), next()]);
  return ended;
}

const COUNTED = `let n = 0; process.on('exit', (code) => console.log('exit', code, process.exitCode, 'after', n));`;
const counted = (app: string) => ({ app: COUNTED + app });
const signalled = (signal: NodeJS.Signals, app = '') => ({
  app: `const timer = setInterval(() => {}, 1000); ${app} console.log('ready');`,
  signal,
});
const handled = (signal: NodeJS.Signals) =>
  signalled(
    signal,
    `process.on('${signal}', async () => {
      console.log('handled', process.listenerCount('${signal}'));
      clearInterval(timer);
      await new Promise((resolve) => setTimeout(resolve, 20));
      console.log('done');
    });`,
  );

describe('an application under register ends as without it', { concurrency: false }, () => {
  it('by itself, with the work that its beforeExit listeners start', async (t) => {
    const ended = await endAlike(t, {
      'a listener for once': counted(`process.once('beforeExit', () => { n++; });`),
      'a listener of a service that was started': counted(
        `process.once('beforeExit', () => { n++; }); setTimeout(() => {}, 400);`,
      ),
      'a listener that starts timers': counted(
        `process.on('beforeExit', () => { if (++n < 4) setTimeout(() => console.log(n), n); });`,
      ),
      'a listener that starts an immediate': counted(
        `process.on('beforeExit', () => { if (++n < 4) setImmediate(() => console.log(n)); });`,
      ),
      'a listener that starts work later': counted(
        `process.on('beforeExit', async () => { if (++n < 3) { await null; setTimeout(() => console.log(n), 50); } });`,
      ),
      'a listener that reads a file': counted(
        `import { readFile } from 'node:fs/promises';
        process.on('beforeExit', async () => { if (++n < 3) console.log((await readFile('app.mjs')).length > 0); });`,
      ),
      'a listener that starts a child': counted(
        `import { spawn } from 'node:child_process';
        process.on('beforeExit', () => { if (++n < 2) spawn('true').on('exit', (code) => console.log(code)); });`,
      ),
      'a listener that opens a server': counted(
        `import { createServer } from 'node:http';
        process.once('beforeExit', () => {
          n++;
          const server = createServer().listen(0, () => setTimeout(() => server.close(() => console.log('closed')), 100));
        });`,
      ),
      'a listener that waits for nothing': counted(
        `process.once('beforeExit', async () => { n++; await new Promise(() => {}); });`,
      ),
      'a listener with a timer that keeps nothing alive': counted(
        `process.once('beforeExit', () => { n++; setTimeout(() => {}, 0).unref(); });`,
      ),
      'a listener that exits': counted(`process.on('beforeExit', () => { n++; process.exit(9); });`),
      'a listener that sets the code': counted(`process.once('beforeExit', () => { n++; process.exitCode = 4; });`),
      'a top-level await that never settles': counted(
        `process.once('beforeExit', () => { n++; }); await new Promise(() => {});`,
      ),
      'a top-level await that a listener settles': counted(
        `await new Promise((resolve) => process.on('beforeExit', () => {
          if (++n === 2) resolve(); else setTimeout(() => {}, 20);
        }));
        console.log('settled');`,
      ),
    });
    assert.deepEqual(ended['a listener for once'], {
      code: 0,
      signal: null,
      stdout: 'exit 0 undefined after 1\n',
      stderr: '',
    });
    assert.equal(ended['a top-level await that never settles'].code, 13);
  });

  it('but a beforeExit listener that stays is called once more, after a flush that takes time', async (t) => {
    const { env } = await openReceiver(t);
    const { code, stdout } = await runToEnd(t, { ...counted(`process.on('beforeExit', () => { n++; });`), env }, true);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: 'exit 0 undefined after 2\n' });
  });

  it('by exit, an error or a signal', async (t) => {
    await endAlike(t, {
      exit: { app: 'process.exit(3);' },
      'exit in a timer': { app: `setTimeout(() => process.exit(4), 150);` },
      'exit in exit': { app: `process.on('exit', (code) => { console.log(code); process.exit(9); });` },
      reallyExit: { app: 'process.reallyExit(8);' },
      'an error': {
        app: `process.on('exit', (code) => console.log(code)); setTimeout(() => { throw 'thrown'; }, 100);`,
      },
      'a rejection': { app: `process.on('exit', (code) => console.log(code)); await Promise.reject('rejected');` },
      'a rejection that is a warning': {
        app: `Promise.reject('rejected'); setTimeout(() => console.log('late'), 100);`,
        options: ['--unhandled-rejections=none'],
      },
      'an error that is caught': {
        app: `process.on('uncaughtException', (error) => console.log(error.message)); setTimeout(() => { throw new Error('x'); }, 100);`,
      },
      'a closed stdout': {
        app: `process.stdout.on('error', ({ code }) => { console.error(code); process.exit(6); });
          setInterval(() => console.log('x'.repeat(1000)), 10);`,
        closesStdout: true,
      },
      ...Object.fromEntries(
        (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const).flatMap((signal) => [
          [signal, signalled(signal)],
          [`${signal}, handled`, handled(signal)],
        ]),
      ),
      'a worker of a cluster that disconnects': {
        app: `import cluster from 'node:cluster'; import { createServer } from 'node:http';
          if (cluster.isPrimary) {
            cluster.fork().on('exit', (code, signal) => console.log('exit', code, signal)).on('listening', (worker) => console.log('listening'));
          } else {
            let n = 0;
            process.once('beforeExit', () => { n++; }).on('exit', () => console.log('after', n));
            createServer().listen(0, () => setTimeout(() => process.disconnect(), 200));
          }`,
      },
    });
  });

  it('also where it reads a pipe at stdin that has nothing yet', async (t) => {
    const { sync } = await endAlike(t, {
      sync: {
        app: `import { readFileSync } from 'node:fs'; console.log('reads'); console.log(readFileSync(0, 'utf8'));`,
        input: 'text',
      },
      events: {
        app: `console.log('reads'); process.stdin.on('data', (data) => console.log(String(data))).on('end', () => console.log('end'));`,
        input: 'text',
      },
    });
    assert.equal(sync.stdout, 'reads\ntext\n');
  });

  it('within seconds where the collector or the store does not answer', async (t) => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    t.after(() => silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    // Metrics go out at the end in any case. A refused export is tried again for 20 s; the bound leaves room for a slow machine.
    const app = `let ended;
      process.on('exit', (code) => console.log(code, performance.now() - ended < 15_000));
      setTimeout(() => { ended = performance.now(); }, 300);`;
    const envs = [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
      { RDCP_STORE: 'redis://127.0.0.1:1' },
      { RDCP_STORE: `redis://127.0.0.1:${port}` },
    ];
    const ended = await Promise.all(envs.map((env) => runToEnd(t, { app, env }, true)));
    for (const [at, { code, stdout }] of ended.entries())
      assert.deepEqual([code, stdout], [0, '0 true\n'], JSON.stringify(envs[at]));
  });
});
