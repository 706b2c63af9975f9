import { relative, sep } from 'node:path';
import { packageOf, realPath } from '../../otel/loading/package.ts';
import { isStoppable, registeredProviders } from '../../otel/telemetry.ts';
import { INSTRUMENTATION_NAME } from '../../wire/version.ts';

/**
 * Packages that start the application in a child process. Launcher and application have the same `NODE_OPTIONS`; only the
 * application should open the port.
 */
const LAUNCHERS = [
  ...['npm', 'npx', 'yarn', 'pnpm', '@pnpm/exe', 'corepack', 'lerna', 'nx', 'turbo', 'npm-run-all', 'npm-run-all2'],
  ...[
    'concurrently',
    'cross-env',
    'dotenv-cli',
    '@dotenvx/dotenvx',
    'env-cmd',
    'nodemon',
    'tsx',
    '@nestjs/cli',
    'forever',
  ],
];
/** Packages of which only some files do so. */
const LAUNCHING_FILES: Readonly<Record<string, RegExp>> = {
  // PM2's other files run the application in the same process.
  pm2: /^(?:bin\/|lib\/(?:binaries\/|Daemon))/,
  // The `rdcp` command, not an application under examples/.
  [INSTRUMENTATION_NAME]: /^(?:dist|src)\/cli\//,
};

/** A package manager that a project or corepack stores as a single file, outside of any package. */
const PACKAGE_MANAGER_FILE = /\/(?:\.yarn\/releases|corepack)\/.*\.c?js$/;

interface ProcessStart {
  /** `process.argv[1]`; `undefined` for `node -e`, a script on stdin and the REPL. */
  readonly program: string | undefined;
  readonly execArgv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** False for a process that launches an application, checks its syntax or evaluates code from the command line. */
export function runsApplication({ program, execArgv, env }: ProcessStart): boolean {
  if (execArgv.includes('--check') || execArgv.includes('-c')) return false;
  // Without a file: true unless the preloaded modules are inherited by NODE_OPTIONS alone.
  if (program === undefined || program === '-') {
    return preloadedModules([], env).length === 0 || preloadedModules(execArgv, {}).length > 0;
  }
  return !isLauncher(program);
}

function isLauncher(program: string): boolean {
  const file = realPath(program);
  if (PACKAGE_MANAGER_FILE.test(withSlashes(file))) return true;
  const found = packageOf(file);
  if (found === undefined) return false;
  if (LAUNCHERS.includes(found.name)) return true;
  if (!Object.hasOwn(LAUNCHING_FILES, found.name)) return false;
  return LAUNCHING_FILES[found.name]?.test(withSlashes(relative(found.directory, file))) === true;
}

function withSlashes(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}

const OPTION = /^(?:--import|--require|-r)(?:=(?<module>.*))?$/s;

function preloadedModules(execArgv: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const words = [...wordsOf(env.NODE_OPTIONS ?? ''), ...execArgv];
  return words.flatMap((word, index) => {
    const option = OPTION.exec(word);
    return option === null ? [] : [option.groups?.module ?? words[index + 1] ?? ''];
  });
}

/** Node splits `NODE_OPTIONS` at spaces outside of double quotes; inside, a backslash escapes. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/gs) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"/gs, (_, quoted) => quoted.replaceAll(/\\(.)/gs, '$1')),
  );
}

/** A module that starts an SDK, as a package entry or a file. */
const STARTS_SDK = /(?:^|[/\\])@opentelemetry[/\\]auto-instrumentations-node[/\\].*register/;

export function isSdkRegistered(): boolean {
  return signals().length > 0;
}

/** Whether a preloaded module starts an SDK, possibly after ours because its `--import` comes later. */
export function willRegisterSdk(execArgv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return preloadedModules(execArgv, env).some((name) => STARTS_SDK.test(name));
}

export function describeRegisteredSdk(): string {
  const taken = signals();
  if (taken.length === 0) return 'the OpenTelemetry SDK of @opentelemetry/auto-instrumentations-node';
  return `the OpenTelemetry SDK that is already registered (${taken.join(', ')})`;
}

/** The signals for which an SDK registered a provider. The API's no-op and proxy providers do not count. */
function signals(): string[] {
  return Object.entries(registeredProviders()).flatMap(([signal, provider]) => (isStoppable(provider) ? [signal] : []));
}
