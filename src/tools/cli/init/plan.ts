import type { Project, ReadText } from './project.ts';
import { startedBy, withOption } from './scripts.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';
const REGISTER = `${NAME}/register`;
const IMPORT = `--import ${REGISTER}`;
/** Scripts that start a service, where they run `node` themselves. */
const START_SCRIPTS = ['start', 'start:prod'];
const DOCKERFILE = 'Dockerfile';
const ECOSYSTEM = ['ecosystem.config.js', 'ecosystem.config.cjs', 'ecosystem.config.json'];

export interface Plan {
  readonly found: string;
  readonly install: string | undefined;
  /** Scripts of package.json to change, before and after. */
  readonly scripts: readonly { readonly name: string; readonly before: string; readonly after: string }[];
  readonly manifest: string;
  /** Manual steps, and commands to run. */
  readonly steps: readonly string[];
  readonly done: boolean;
  readonly service: boolean;
}

export function planFor(project: Project, read: ReadText): Plan {
  const { scripts, manifest, sdkFile } = project;
  const names = [...new Set(START_SCRIPTS.filter((name) => scripts[name]).map((name) => startedBy(scripts, name)))];
  const idle = { found: describe(project), install: undefined, scripts: [], manifest, service: true };
  if (project.workspaces && names.length === 0) {
    const steps = ['This is the root of a workspace: run rdcp init in the folder of each service.'];
    return { ...idle, steps, done: false, service: false };
  }
  const install = installCommand(project);
  if (sdkFile !== undefined) {
    const controlled = (read(sdkFile) ?? '').includes(NAME);
    const steps = controlled ? [] : [ownSdk(project)];
    return { ...idle, install, steps, done: controlled && install === undefined };
  }
  const isControlled = (script: string) => script.includes(REGISTER);
  const changes: Plan['scripts'][number][] = [];
  const byHand: string[] = [];
  const controlled = Object.values(scripts).some(isControlled);
  const ecosystem = ECOSYSTEM.find((path) => read(path) !== undefined);
  for (const name of names) {
    const before = scripts[name] ?? '';
    if (isControlled(before)) continue;
    const after = withOption(before, IMPORT);
    if (after !== undefined) changes.push({ name, before, after });
    else if (ecosystem === undefined || !/\bpm2(?:-\w+)?\b/.test(before))
      byHand.push(otherProgram(project, name, before));
  }
  if (names.length === 0 && !controlled)
    byHand.push(`Start the service with:\n  node ${IMPORT} ${project.main ?? 'app.js'}`);
  const steps = [...(controlled ? [] : byHand), ...elsewhere(read, ecosystem)];
  return {
    ...idle,
    install,
    scripts: changes,
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

function otherProgram({ manager }: Project, name: string, script: string): string {
  const run = `${manager}${name === 'start' ? '' : ' run'} ${name}`;
  return `"${name}" does not run node itself (${script}): start the service with\n  NODE_OPTIONS='${IMPORT}' ${run}`;
}

/** Files that start the service as well; they are only mentioned. */
function elsewhere(read: ReadText, ecosystem: string | undefined): string[] {
  const steps: string[] = [];
  const command = /^(?:CMD|ENTRYPOINT)\b.*\bnode\b.*$/m.exec(read(DOCKERFILE) ?? '')?.[0];
  if (command !== undefined && !command.includes(REGISTER)) {
    const after = command.includes('"node"')
      ? command.replace('"node"', `"node", "--import", "${REGISTER}"`)
      : command.replace(/\bnode\b/, `node ${IMPORT}`);
    steps.push(`In ${DOCKERFILE}, start it with:\n  ${after}`);
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
function replaceScript(manifest: string, { name, before, after }: Plan['scripts'][number]): string {
  const start = manifest.indexOf('"scripts"');
  const [key, value] = [name, before].map((text) => JSON.stringify(text).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const entry = new RegExp(`(${key}\\s*:\\s*)${value}`);
  return manifest.slice(0, start) + manifest.slice(start).replace(entry, (_, head) => head + JSON.stringify(after));
}
