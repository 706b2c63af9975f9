import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, globSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, start } from '../../examples/child.ts';
import { PROGRAM_ENV } from '../../support/program-env.ts';
import { until } from '../../support/until.ts';
import { installInto, LINES, MANIFEST, packInto } from '../consumer.ts';

/** Beside OpenTelemetry: the optional peers, and the loggers of an application. */
const PACKAGES = ['redis', 'pg', '@modelcontextprotocol/server', 'debug', 'pino', 'winston'];
const REGISTER = ['--import', 'opentelemetry-instrumentation-rdcp/register'];
/** Categories of the services; each row that switches has one of its own. */
export const CATEGORIES =
  'ORDERS STOCK MAILS PRICES BUDGETS BYTES FREE LASTING TOGGLED DB_READ DB_WRITE WATCHED PICKED SPARE TRACED ALARMS KEPT';

/** A folder outside of this repository, with the tarball and what an application has beside it. */
export interface Application {
  readonly directory: string;
  /** Everything that services wrote on stderr. */
  readonly logged: () => string;
  /** Starts a program of `programs/` under `register`, and waits for its endpoint. */
  serve(file: string, env: Record<string, string>): Promise<void>;
  /** Runs a command line in a shell. See {@link Running}. */
  type(line: string, running?: Running): Promise<Typed>;
  close(): Promise<void>;
}

export interface Running {
  readonly env?: Record<string, string> | undefined;
  /** Its standard input, which ends after that; with `until` it stays open. */
  readonly stdin?: string | undefined;
  /** Once it has printed that, the command gets Ctrl-C. @default it runs until it ends */
  readonly until?: RegExp | undefined;
  /** A line that runs again and again meanwhile, with what the command has printed so far as `PRINTED`. */
  readonly meanwhile?: string | undefined;
}

export interface Typed {
  readonly code: number | null;
  /** Both outputs, as a terminal shows them. */
  readonly printed: string;
}

const versionOf = (name: string) => [name, MANIFEST.devDependencies[name] ?? ''] as const;

/** @param folder outside of this repository */
export async function install(folder: string): Promise<Application> {
  const packages = { ...LINES['3.x'], ...Object.fromEntries(PACKAGES.map(versionOf)) };
  const { directory } = await installInto(join(folder, 'application'), await packInto(folder), packages, {
    alone: true,
  });
  for (const program of globSync(join(import.meta.dirname, 'programs/*'))) {
    copyFileSync(program, join(directory, basename(program)));
  }
  // `rdcp` is the installed one, and nothing of the person who runs the tests counts.
  const env = {
    PATH: [join(directory, 'node_modules/.bin'), join(directory, 'bin'), PROGRAM_ENV.PATH].join(delimiter),
    HOME: directory,
    XDG_CONFIG_HOME: join(directory, 'config'),
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    NODE_NO_WARNINGS: '1',
  };
  const children: Child[] = [];

  const type: Application['type'] = async (line, { env: more, stdin, until: enough, meanwhile } = {}) => {
    const child = spawn('sh', ['-c', line], { cwd: directory, env: { ...env, ...more }, detached: true });
    const ended = once(child, 'close');
    let printed = '';
    const interrupt = (signal: NodeJS.Signals) => child.exitCode === null && process.kill(-(child.pid ?? 0), signal);
    const timer = setTimeout(interrupt, 60_000, 'SIGKILL');
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text) => {
        const before = printed;
        printed += text;
        // Once: the second Ctrl-C ends a command at once.
        if (enough?.test(printed) && !enough.test(before)) interrupt('SIGINT');
      });
    }
    child.stdin.on('error', () => undefined);
    child.stdin.write(stdin ?? '');
    if (enough === undefined) child.stdin.end();
    while (meanwhile !== undefined && child.exitCode === null && child.signalCode === null) {
      await type(meanwhile, { env: { ...more, PRINTED: printed } });
      await sleep(200);
    }
    const [code] = await ended;
    clearTimeout(timer);
    return { code, printed };
  };

  return {
    directory,
    type,
    logged: () => children.map(({ output }) => output.stderr).join(''),
    async serve(file, more) {
      const child = await start(process.execPath, [...REGISTER, file], { cwd: directory, env: { ...env, ...more } });
      children.push(child);
      const ended = child.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${child.output.stderr}`)));
      const answers = () => child.output.stderr.includes('rdcp: remote control on http');
      await Promise.race([until(`${file} answers`, answers), ended]);
      // It may end later, as when the tests do.
      ended.catch(() => undefined);
    },
    async close() {
      await Promise.all(children.map((child) => child.end('SIGKILL')));
    },
  };
}
