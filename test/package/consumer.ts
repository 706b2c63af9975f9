import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assertBuilt, ROOT } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';
const run = promisify(execFile);

/** The manifest of this package. */
export const MANIFEST: {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly devDependencies: Readonly<Record<string, string>>;
} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** The two living lines of OpenTelemetry JS. */
export const LINES = {
  '3.x': Object.fromEntries(
    Object.entries(MANIFEST.devDependencies).filter(([name]) =>
      /^@opentelemetry\/(api|instrumentation|sdk-node|exporter-prometheus)$/.test(name),
    ),
  ),
  '2.x': {
    '@opentelemetry/api': '1.9.1',
    '@opentelemetry/instrumentation': '0.223.0',
    '@opentelemetry/sdk-node': '0.223.0',
    '@opentelemetry/exporter-prometheus': '0.223.0',
  },
};

/** A tool of this repository, by its command. */
export const tool = (name: string) => join(ROOT, 'node_modules', '.bin', name);

/**
 * Packs the build into `directory`, as it would be published. In the full tier it is packed already, once for all files.
 * @returns the tarball
 */
export async function packInto(directory: string): Promise<string> {
  assertBuilt();
  const { TEST_TARBALL } = process.env;
  if (TEST_TARBALL !== undefined) return TEST_TARBALL;
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', directory];
  const { stdout } = await run('npm', pack, { cwd: ROOT });
  const [packed]: { readonly filename: string }[] = JSON.parse(stdout);
  return join(directory, packed?.filename ?? '');
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A project that has installed the packed package. */
export interface Consumer {
  readonly directory: string;
  /** Runs a script in it, with arguments for Node before it. */
  node(
    script: string,
    options?: {
      readonly args?: readonly string[];
      readonly env?: Record<string, string>;
      /** @default the one that runs the tests */
      readonly node?: string;
    },
  ): Promise<Finished>;
  /** Compiles a file against the published types, those of every dependency included. */
  compile(source: string): Promise<Finished>;
}

/**
 * Installs the tarball, beside packages of the given versions.
 * @param options `alone`: afterwards, by a command of its own, as an application does that has them already
 */
export async function installInto(
  directory: string,
  tarball: string,
  packages: Readonly<Record<string, string>>,
  { alone = false }: { readonly alone?: boolean } = {},
): Promise<Consumer> {
  writeProject(directory);
  const wanted = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const install = (...names: string[]) => run('npm', ['install', ...flags, ...names], { cwd: directory });
  if (alone) await install(...wanted);
  await install(tarball, ...(alone ? [] : wanted));
  return consumerIn(directory);
}

/**
 * Unpacks the tarball as npm would, without a registry.
 * @param directory below one whose `node_modules` has what the package depends on
 */
export async function unpackInto(directory: string, tarball: string): Promise<Consumer> {
  writeProject(directory);
  const target = join(directory, 'node_modules', NAME);
  mkdirSync(target, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
  return consumerIn(directory);
}

function writeProject(directory: string): void {
  mkdirSync(directory);
  writeFileSync(join(directory, 'package.json'), '{ "private": true, "type": "module" }');
}

function consumerIn(directory: string): Consumer {
  return {
    directory,
    node(script, { args = [], env = {}, node = process.execPath } = {}) {
      const file = join(directory, 'script.mjs');
      writeFileSync(file, script);
      return finish(node, [...args, file], directory, env);
    },
    compile(source) {
      writeFileSync(join(directory, 'consumer.ts'), source);
      symlinkSync(join(ROOT, 'node_modules', '@types'), join(directory, 'types'));
      const options = {
        module: 'nodenext',
        target: 'es2024',
        lib: ['es2024', 'dom', 'dom.iterable'],
        strict: true,
        skipLibCheck: false,
        noEmit: true,
        types: ['node'],
        typeRoots: ['types'],
      };
      writeFileSync(
        join(directory, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: options, files: ['consumer.ts'] }),
      );
      return finish(tool('tsc'), ['-p', directory], directory);
    },
  };
}

/** Every way into the package that needs no other package, as an application writes it. */
export const SUBPATHS = Object.keys(MANIFEST.exports)
  .map((path) => NAME + path.slice(1))
  .filter((entry) => !/\/(redis|postgres|package\.json)$/.test(entry));

/** No program here takes a tenth of this. */
const MOST_MS = 300_000;

/** Runs a program to its end, whatever its code. */
export function finish(
  file: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...PROGRAM_ENV, ...env }, timeout: MOST_MS };
    execFile(file, [...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}
