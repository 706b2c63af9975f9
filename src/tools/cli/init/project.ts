import { isObject, parsedJson } from '../../../wire/json-text.ts';
import { UsageError } from '../command.ts';
import { preloadedBy } from './scripts.ts';

/** Reads the files of a project, by their path in it. `undefined` for one that is not there. */
export type ReadText = (path: string) => string | undefined;

export interface Project {
  readonly manifest: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly main: string | undefined;
  readonly esModules: boolean;
  readonly workspaces: boolean;
  readonly packages: ReadonlySet<string>;
  readonly manager: 'npm' | 'pnpm' | 'yarn';
  readonly sdkFile: string | undefined;
  readonly frameworks: readonly string[];
  readonly loggers: readonly string[];
  readonly typescript: boolean;
}

const FRAMEWORKS = ['express', 'fastify', 'koa', '@nestjs/core', '@hapi/hapi', 'next'];
const LOGGERS = ['debug', 'pino', 'winston', '@nestjs/common', 'bunyan', 'log4js', 'consola', 'loglevel', 'tslog'];
const SDK_NAMES = ['instrumentation', 'tracing', 'telemetry', 'otel', 'opentelemetry'];
const FOLDERS = ['', 'src/', 'lib/'];
const EXTENSIONS = ['ts', 'mts', 'js', 'mjs', 'cjs', 'cts'];
const STARTS_SDK = /\bnew\s+(?:NodeSDK|NodeTracerProvider)\b|\bstartNodeS(?:dk|DK)\s*\(/;

export function inspectProject(read: ReadText): Project {
  const manifest = read('package.json');
  if (manifest === undefined)
    throw new UsageError('there is no package.json: run rdcp init in the folder of a service');
  const parsed = parse(manifest);
  const packages = new Set(
    ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((group) => Object.keys(Object(parsed[group]))),
  );
  const scripts = Object.fromEntries(
    Object.entries(Object(parsed.scripts)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const usual = FOLDERS.flatMap((folder) =>
    SDK_NAMES.flatMap((name) => EXTENSIONS.map((extension) => `${folder}${name}.${extension}`)),
  );
  return {
    manifest,
    scripts,
    main: typeof parsed.main === 'string' ? parsed.main : undefined,
    esModules: parsed.type === 'module',
    workspaces: parsed.workspaces !== undefined || read('pnpm-workspace.yaml') !== undefined,
    packages,
    manager: read('pnpm-lock.yaml') !== undefined ? 'pnpm' : read('yarn.lock') !== undefined ? 'yarn' : 'npm',
    sdkFile: [...Object.values(scripts).flatMap(preloadedBy), ...usual].find((path) =>
      STARTS_SDK.test(read(path) ?? ''),
    ),
    frameworks: FRAMEWORKS.filter((name) => packages.has(name)),
    loggers: LOGGERS.filter((name) => packages.has(name)),
    typescript: packages.has('typescript') || read('tsconfig.json') !== undefined,
  };
}

function parse(manifest: string): Record<string, unknown> {
  // Editors of Windows put a byte order mark before it, which npm ignores.
  const parsed = parsedJson(manifest.replace(/^\uFEFF/, ''));
  if (parsed === undefined) throw new UsageError('package.json is not valid JSON');
  if (!isObject(parsed)) throw new UsageError('package.json must be an object');
  return parsed;
}
