import type { Project, ReadText } from './project.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';
const REGISTER = `${NAME}/register`;
const IMPORT = `--import ${REGISTER}`;
/** Scripts that start a service, where they run `node` themselves. */
const START_SCRIPTS = ['start', 'start:prod'];
const DOCKERFILE = 'Dockerfile';
const ECOSYSTEM = ['ecosystem.config.js', 'ecosystem.config.cjs', 'ecosystem.config.json'];

/** What puts a project under control. */
export interface Plan {
  /** What the project is, in a few words. */
  readonly found: string;
  /** Scripts of package.json to change, before and after. */
  readonly scripts: readonly { readonly name: string; readonly before: string; readonly after: string }[];
  /** The text of package.json with these scripts. */
  readonly manifest: string;
  /** What is left to do by hand, and commands to run. */
  readonly steps: readonly string[];
  /** Whether there is nothing to do. */
  readonly done: boolean;
}

export function planFor(project: Project, read: ReadText): Plan {
  const found = describe(project);
  const idle = { found, scripts: [], manifest: project.manifest };
  if (project.workspaces && !START_SCRIPTS.some((name) => project.scripts[name] !== undefined)) {
    const steps = ['This is the root of a workspace: run rdcp init in the folder of each service.'];
    return { ...idle, steps, done: false };
  }
  const steps = [...install(project)];
  if (project.sdkFile !== undefined) {
    const controlled = (read(project.sdkFile) ?? '').includes(NAME);
    return {
      ...idle,
      steps: controlled ? steps : [...steps, ...ownSdk(project)],
      done: controlled && steps.length === 0,
    };
  }
  const changes = START_SCRIPTS.flatMap((name) => {
    const before = project.scripts[name];
    const after = before === undefined ? undefined : withImport(before);
    return before === undefined || after === undefined ? [] : [{ name, before, after }];
  });
  const manifest = changes.reduce(replaceScript, project.manifest);
  const controlled = Object.values(project.scripts).some((script) => script.includes(REGISTER));
  if (changes.length === 0 && !controlled) steps.push(...byHand(project));
  steps.push(...elsewhere(read));
  return { found, scripts: changes, manifest, steps, done: controlled && changes.length === 0 && steps.length === 0 };
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

function install({ packages, manager, sdkFile }: Project): string[] {
  const wanted = [
    NAME,
    ...(sdkFile === undefined ? ['@opentelemetry/sdk-node', '@opentelemetry/exporter-prometheus'] : []),
  ];
  const missing = wanted.filter((name) => !packages.has(name));
  return missing.length === 0 ? [] : [`${manager} ${manager === 'npm' ? 'install' : 'add'} ${missing.join(' ')}`];
}

/** The SDK is the application's: its file is never edited. */
function ownSdk({ sdkFile, esModules, typescript }: Project): string[] {
  const load =
    esModules || typescript
      ? `import { RdcpInstrumentation } from '${NAME}';`
      : `const { RdcpInstrumentation } = require('${NAME}');`;
  return [
    `In ${sdkFile}, add:\n  ${load}\nand to the list of instrumentations:\n  new RdcpInstrumentation({ adopt: true }),`,
  ];
}

function byHand({ scripts, main }: Project): string[] {
  const { start } = scripts;
  if (start === undefined) return [`Start the service with:\n  node ${IMPORT} ${main ?? 'app.js'}`];
  return [`"start" does not run node itself (${start}): start the service with\n  NODE_OPTIONS='${IMPORT}' npm start`];
}

/** Files that start the service as well; they are only mentioned. */
function elsewhere(read: ReadText): string[] {
  const steps: string[] = [];
  const command = /^(?:CMD|ENTRYPOINT)\b.*\bnode\b.*$/m.exec(read(DOCKERFILE) ?? '')?.[0];
  if (command !== undefined && !command.includes(REGISTER)) {
    const after = command.includes('"node"')
      ? command.replace('"node"', `"node", "--import", "${REGISTER}"`)
      : command.replace(/\bnode\b/, `node ${IMPORT}`);
    steps.push(`In ${DOCKERFILE}, start it with:\n  ${after}`);
  }
  const ecosystem = ECOSYSTEM.find((path) => read(path) !== undefined);
  if (ecosystem !== undefined && !(read(ecosystem) ?? '').includes(REGISTER)) {
    steps.push(`In ${ecosystem}, add to the app:\n  node_args: '${IMPORT}',`);
  }
  return steps;
}

/** `node` where a shell takes it as a command: at the beginning, or behind an operator, with variables before it. */
const RUNS_NODE =
  /(?:^|&&|[;|(])\s*(?:(?:exec|env|cross-env|nohup)\s+|\w+=(?:"[^"]*"|'[^']*'|[^\s"']*)\s+)*node(?=\s)/g;

/** Puts the import behind the last `node` that a script runs. `undefined` if it has one already, or runs none. */
function withImport(script: string): string | undefined {
  if (script.includes(REGISTER)) return undefined;
  const [last] = [...script.matchAll(RUNS_NODE)].slice(-1);
  if (last === undefined) return undefined;
  const at = last.index + last[0].length;
  return `${script.slice(0, at)} ${IMPORT}${script.slice(at)}`;
}

/** Changes one string of the file, and nothing of its form. */
function replaceScript(manifest: string, { name, before, after }: Plan['scripts'][number]): string {
  const start = manifest.indexOf('"scripts"');
  const [key, value] = [name, before].map((text) => JSON.stringify(text).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const entry = new RegExp(`(${key}\\s*:\\s*)${value}`);
  return manifest.slice(0, start) + manifest.slice(start).replace(entry, (_, head) => head + JSON.stringify(after));
}
