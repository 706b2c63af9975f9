import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isObject, parsedJson } from '../../../wire/json-text.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import { type Command, UsageError } from '../command.ts';

export const init: Command = {
  summary: 'show the few lines that put a project under control; --write changes the start scripts of its package.json',
  operands: '[directory]',
  completes: 'files',
  options: {
    write: { help: 'change the start scripts of package.json; nothing else is touched' },
  },
  notes: [
    'A file that starts an OpenTelemetry SDK, a Dockerfile or a PM2 ecosystem file is never edited: the line is shown.',
  ],
  examples: ['rdcp init', 'rdcp init --write services/shop'],
  run: async (terminal, { write }, [directory = '.']) => {
    const folder = resolve(terminal.cwd, directory);
    const read: ReadText = (path) => {
      try {
        return readFileSync(join(folder, path), 'utf8');
      } catch {
        return undefined;
      }
    };
    const plan = planFor(inspectProject(read), read);
    const written = write === true && plan.scripts.length > 0;
    terminal.out(`Found: ${plan.found}`);
    if (written) writeFileSync(join(folder, 'package.json'), plan.manifest);
    if (plan.install !== undefined) terminal.out(`\nInstall what is missing:\n  ${plan.install}`);
    for (const { name, before, after } of plan.scripts) {
      terminal.out(`\npackage.json, script "${name}"${written ? ' (written)' : ''}:\n- ${before}\n+ ${after}`);
    }
    for (const step of plan.steps) terminal.out(`\n${step}`);
    if (plan.scripts.length > 0 && !written)
      terminal.out(
        `\nTo write the scripts: ${shellWords('npx', 'opentelemetry-instrumentation-rdcp', 'init', '--write', ...(directory === '.' ? [] : [directory]))}`,
      );
    if (plan.done) terminal.out('\nNothing to do: the project is under control.');
    else if (plan.service)
      terminal.out('\nThen start the service, and list its categories, in the same folder:\n  npx rdcp list');
  },
};

/** Reads the files of a project, by their path in it. `undefined` for one that is not there. */
type ReadText = (path: string) => string | undefined;

const FRAMEWORKS = ['express', 'fastify', 'koa', '@nestjs/core', '@hapi/hapi', 'next'];
const LOGGERS = ['debug', 'pino', 'winston', '@nestjs/common', 'bunyan', 'log4js', 'consola', 'loglevel', 'tslog'];
const SDK_NAMES = ['instrumentation', 'tracing', 'telemetry', 'otel', 'opentelemetry'];
const FOLDERS = ['', 'src/', 'lib/'];
const EXTENSIONS = ['ts', 'mts', 'js', 'mjs', 'cjs', 'cts'];
const STARTS_SDK = /\bnew\s+(?:NodeSDK|NodeTracerProvider)\b|\bstartNodeS(?:dk|DK)\s*\(/;

type Project = ReturnType<typeof inspectProject>;

function inspectProject(read: ReadText) {
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

const NAME = 'opentelemetry-instrumentation-rdcp';
const REGISTER = `${NAME}/register`;
const IMPORT = `--import ${REGISTER}`;
/** Scripts that start a service, where they run `node` themselves. */
const START_SCRIPTS = ['start', 'start:prod'];
const ECOSYSTEM = ['ecosystem.config.js', 'ecosystem.config.cjs', 'ecosystem.config.json'];

interface Change {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** @returns what to install, the scripts to change, and the steps to take by hand */
function planFor(project: Project, read: ReadText) {
  const { scripts, manifest, sdkFile } = project;
  const names = [...new Set(START_SCRIPTS.filter((name) => scripts[name]).map((name) => startedBy(scripts, name)))];
  const changes: Change[] = [];
  const idle = { found: describe(project), scripts: changes, manifest, service: true };
  if (project.workspaces && names.length === 0) {
    const steps = ['This is the root of a workspace: run rdcp init in the folder of each service.'];
    return { ...idle, install: undefined, steps, done: false, service: false };
  }
  const install = installCommand(project);
  if (sdkFile !== undefined) {
    const controlled = (read(sdkFile) ?? '').includes(NAME);
    const steps = controlled ? [] : [ownSdk(project)];
    return { ...idle, install, steps, done: controlled && install === undefined };
  }
  const isControlled = (script: string) => script.includes(REGISTER);
  const byHand: string[] = [];
  const controlled = Object.values(scripts).some(isControlled);
  const ecosystem = ECOSYSTEM.find((path) => read(path) !== undefined);
  for (const name of names) {
    const before = scripts[name] ?? '';
    if (isControlled(before)) continue;
    const after = withOption(before, IMPORT);
    if (after !== undefined) changes.push({ name, before, after });
    else if (ecosystem === undefined || !/\bpm2(?:-\w+)?\b/.test(before)) {
      const run = `NODE_OPTIONS='${IMPORT}' ${project.manager}${name === 'start' ? '' : ' run'} ${name}`;
      byHand.push(`"${name}" does not run node itself (${before}): start the service with\n  ${run}`);
    }
  }
  if (names.length === 0 && !controlled)
    byHand.push(`Start the service with:\n  node ${IMPORT} ${project.main ?? 'app.js'}`);
  const steps = [...(controlled ? [] : byHand), ...elsewhere(read, ecosystem)];
  return {
    ...idle,
    install,
    manifest: changes.reduce(replaceScript, manifest),
    steps,
    done: controlled && changes.length === 0 && steps.length === 0 && install === undefined,
  };
}

function describe({ frameworks, loggers, sdkFile, typescript, esModules }: Project): string {
  const parts = [
    typescript ? 'TypeScript' : 'JavaScript',
    esModules ? 'ES modules' : 'CommonJS',
    ...frameworks,
    ...(loggers.length > 0 ? [`loggers: ${loggers.join(', ')}`] : []),
    ...(sdkFile === undefined ? [] : [`OpenTelemetry SDK in ${sdkFile}`]),
  ];
  return parts.join('; ');
}

function installCommand({ packages, manager, sdkFile }: Project): string | undefined {
  // Where there is an SDK, ours attaches to it.
  const hasSdk = sdkFile !== undefined || packages.has('@opentelemetry/auto-instrumentations-node');
  const wanted = [NAME, ...(hasSdk ? [] : ['@opentelemetry/sdk-node'])];
  const missing = wanted.filter((name) => !packages.has(name));
  return missing.length === 0 ? undefined : `${manager} ${manager === 'npm' ? 'install' : 'add'} ${missing.join(' ')}`;
}

/** The SDK is the application's: its file is never edited. */
function ownSdk({ sdkFile, esModules, typescript }: Project): string {
  const load =
    esModules || typescript
      ? `import { RdcpInstrumentation } from '${NAME}';`
      : `const { RdcpInstrumentation } = require('${NAME}');`;
  return `In ${sdkFile}, add:\n  ${load}\nand to the list of instrumentations:\n  new RdcpInstrumentation({ adopt: true }),`;
}

/** Files that start the service as well; they are only mentioned. */
function elsewhere(read: ReadText, ecosystem: string | undefined): string[] {
  const steps: string[] = [];
  const command = /^(?:CMD|ENTRYPOINT)\b.*\bnode\b.*$/m.exec(read('Dockerfile') ?? '')?.[0];
  if (command !== undefined && !command.includes(REGISTER)) {
    const after = command.includes('"node"')
      ? command.replace('"node"', `"node", "--import", "${REGISTER}"`)
      : command.replace(/\bnode\b/, `node ${IMPORT}`);
    steps.push(`In Dockerfile, start it with:\n  ${after}`);
  }
  const processes = ecosystem === undefined ? '' : (read(ecosystem) ?? '');
  if (ecosystem !== undefined && !processes.includes(REGISTER)) {
    const has = /\bnode_args\b|\bnodeArgs\b|\binterpreter_args\b/.exec(processes)?.[0];
    const json = ecosystem.endsWith('.json');
    steps.push(
      has === undefined
        ? `In ${ecosystem}, add to the app:\n  ${json ? `"node_args": "${IMPORT}"` : `node_args: '${IMPORT}'`},`
        : `In ${ecosystem}, add to ${has} of the app:\n  ${IMPORT}`,
    );
  }
  return steps;
}

/** Changes one string of the file, and nothing of its form. */
function replaceScript(manifest: string, { name, before, after }: Change): string {
  const start = manifest.indexOf('"scripts"');
  const [key, value] = [name, before].map((text) => JSON.stringify(text).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const entry = new RegExp(`(${key}\\s*:\\s*)${value}`);
  return manifest.slice(0, start) + manifest.slice(start).replace(entry, (_, head) => head + JSON.stringify(after));
}

/** `node`, or tsx, which takes Node's options, where a shell takes it as a command: with variables before it. */
const RUNS_NODE =
  /(?:^|&&|[;|(])\s*(?:(?:exec|env|cross-env|nohup)\s+|\w+=(?:"[^"]*"|'[^']*'|[^\s"']*)\s+)*(?:node|tsx(?!\s+watch\b))(?=\s)/g;
/** Options that preload a module. Ours comes after them: one may start an OpenTelemetry SDK, to which it attaches. */
const PRELOADS = /^(?:\s+--?[\w-]+(?:=\S+)?)*?\s+(?:--import|--require|-r)(?:=|\s+)\S+/;
/** A value of NODE_OPTIONS: its quote, which JSON may have escaped for Windows, and its text. */
const NODE_OPTIONS = /(\bNODE_OPTIONS=)(?:(["'])([^"']*)\2|([^\s"']+))/;
const RUNS_SCRIPT = /^\s*(?:npm|yarn|pnpm)\s+(?:run\s+)?(?:-s\s+|--silent\s+)?([\w:.-]+)\s*$/;

/** Follows `npm run serve` to the script that starts the service. @returns its name */
function startedBy(scripts: Readonly<Record<string, string>>, name: string): string {
  const seen = new Set<string>();
  for (let at = name; ; ) {
    seen.add(at);
    const next = RUNS_SCRIPT.exec(scripts[at] ?? '')?.[1];
    if (next === undefined || scripts[next] === undefined || seen.has(next)) return at;
    at = next;
  }
}

/** Adds an option to the last `node` that a script runs, or to its NODE_OPTIONS. `undefined` if it has neither. */
function withOption(script: string, option: string): string | undefined {
  const [last] = [...script.matchAll(RUNS_NODE)].slice(-1);
  if (last !== undefined) {
    let at = last.index + last[0].length;
    for (let preload = PRELOADS.exec(script.slice(at)); preload !== null; preload = PRELOADS.exec(script.slice(at))) {
      at += preload[0].length;
    }
    return `${script.slice(0, at)} ${option}${script.slice(at)}`;
  }
  if (!NODE_OPTIONS.test(script)) return undefined;
  return script.replace(NODE_OPTIONS, (_, name, quote = '"', quoted = '', bare = '') => {
    return `${name}${quote}${quoted}${bare} ${option}${quote}`;
  });
}

function preloadedBy(script: string): string[] {
  const files = script.matchAll(/(?:--import|--require|-r)(?:=|\s+)(?:\.\/)?([\w./-]+\.[cm]?[jt]s)\b/g);
  return [...files].map(([, file]) => file!);
}
