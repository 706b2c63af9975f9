// `npm run document` writes docs/options.md from the types of the options, docs/command-line.md from the definitions of the
// commands, and test/types/api.md from the declarations in dist/.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import {
  API,
  type Checker,
  type Symbol as Named,
  SymbolFlags,
  type Type,
  type TypeReference,
} from 'typescript/unstable/sync';
import { type Command, type Option as CommandOption, type Commands, EXIT } from '../src/tools/cli/command.ts';
import { root } from '../src/tools/cli/commands/root.ts';
import { CONNECTION_OPTIONS } from '../src/tools/cli/connection.ts';
import { SERVICE_OPTIONS } from '../src/tools/cli/services.ts';

const ROOT = join(import.meta.dirname, '..');

export interface Option {
  /** Such as `server.tls.certFile`, `security.apiKeys[].id` or `categories.<name>.enabled`. */
  readonly path: string;
  readonly meaning: string;
  /** Absent where the option is required. */
  readonly default?: string;
  /** The options in it. */
  readonly options: readonly Option[];
}

/** Every option of `RdcpConfig`, in the order of its declaration. */
export function documentedOptions(): readonly Option[] {
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.build.json')] }).getProjects();
    const file = project?.program.getSourceFile(join(ROOT, 'src/options/options.ts'));
    const module = file && project?.checker.getSymbolAtLocation(file);
    const config = module && project?.checker.getExportsOfModule(module).find(({ name }) => name === 'RdcpConfig');
    if (project === undefined || config === undefined) throw new Error('src/options/options.ts exports no RdcpConfig');
    return optionsOf(project.checker, project.checker.getDeclaredTypeOfSymbol(config), '');
  } finally {
    api.close();
  }
}

function optionsOf(checker: Checker, type: Type, parent: string): Option[] {
  return checker.getPropertiesOfType(type).map((property) => {
    const path = parent + property.name;
    const [tag] = property.getJsDocTags(checker).filter(({ name }) => name === 'default');
    const required = (property.flags & SymbolFlags.Optional) === 0;
    const meaning = property.getDocumentationComment(checker).replaceAll('\n', ' ');
    if (meaning === '') throw new Error(`${path} has no documentation`);
    if (required !== (tag === undefined))
      throw new Error(`${path}: @default belongs to each option that may be left out`);
    const parts = groupsIn(checker, checker.getTypeOfSymbol(property), path);
    const options = parts.flatMap((part) => optionsOf(checker, part.type, `${part.path}.`));
    const alternatives = new Map(options.map((option) => [option.path.replace('[]', ''), option]));
    return {
      path,
      meaning,
      ...(tag?.text !== undefined && { default: tag.text }),
      options: [...alternatives.values()],
    };
  });
}

interface Group {
  readonly path: string;
  readonly type: Type;
}

/** The groups of options that a value may be, or that it may hold. */
function groupsIn(checker: Checker, type: Type | undefined, path: string): Group[] {
  if (type?.isUnionType()) return (type.getTypes() ?? []).flatMap((member) => groupsIn(checker, member, path));
  if (!type?.isObjectType()) return [];
  if (checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type as TypeReference);
    return groupsIn(checker, item, `${path}[]`);
  }
  const [entry] = checker.getIndexInfosOfType(type);
  if (entry !== undefined) return groupsIn(checker, entry.valueType, `${path}.<name>`);
  const symbol = type.getSymbol();
  return symbol !== undefined && isOptions(symbol) ? [{ path, type }] : [];
}

/** An interface of the options, or a type that is written where it is used: the others, such as a store's, are documented where they are declared. */
function isOptions({ flags, declarations }: Named): boolean {
  return (
    (flags & (SymbolFlags.Interface | SymbolFlags.TypeLiteral)) !== 0 &&
    declarations.some(({ path }) => /\/src\/(?:options[./]|wire\/(?:allow|messages|target)\.)/.test(path))
  );
}

/** docs/options.md */
export function optionsDocument(options: readonly Option[]): string {
  const groups = options.filter((option) => option.options.length > 0);
  return `<!-- Made by \`npm run document\` from src/options/: change the comments there. -->

# Options

What \`createRdcp()\` and \`RdcpInstrumentation\` take, and the JSON file of \`RDCP_CONFIG\` may hold. An unknown option or a
wrong value stops the start with one line that names the option, what is wrong and what is allowed. Options without a default
are required where the group that they belong to is given. \`[]\` stands for the entries of a list, \`<name>\` for any name.

${table(options, ({ path, options }) => (options.length > 0 ? `[\`${path}\`](#${path})` : `\`${path}\``))}
${groups.map((group) => `\n## ${group.path}\n\n${table(withoutRepeats(group.options, new Map()), ({ path }) => `\`${path}\``)}\n`).join('')}`;
}

/** The options and those in them; a group that is like an earlier one refers to it. */
function withoutRepeats(options: readonly Option[], shown: Map<string, string>): Option[] {
  return options.flatMap((option) => {
    const content = JSON.stringify(option.options).replaceAll(option.path, '');
    const earlier = option.options.length === 0 ? undefined : shown.get(content);
    if (earlier !== undefined)
      return [{ ...option, meaning: `${option.meaning} Its options are those of \`${earlier}\`.` }];
    shown.set(content, option.path);
    return [option, ...withoutRepeats(option.options, shown)];
  });
}

/** The options and those in them. */
export function flat(options: readonly Option[]): Option[] {
  return options.flatMap((option) => [option, ...flat(option.options)]);
}

function table(options: readonly Option[], name: (option: Option) => string): string {
  const rows = options.map(
    (option) => `| ${[name(option), formatDefault(option), option.meaning].map(escaped).join(' | ')} |`,
  );
  return ['| option | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** A value as code, a description as it is. */
function formatDefault({ default: text }: Option): string {
  if (text === undefined) return 'required';
  return text.replace(/^('[^']*'|-?[\d.]+|true|false|\[\]|\{\})(?=$|[:, ])/, '`$1`');
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replace(/`[^`]*`|</g, (part) => (part === '<' ? '&lt;' : part));
}

interface Documented {
  readonly name: string;
  readonly entry: Command;
}

async function documentedCommands(commands: Commands, path: string): Promise<Documented[]> {
  const found: Documented[] = [];
  for (const [word, loading] of Object.entries(commands)) {
    const name = `${path} ${word}`;
    if ('commands' in loading) found.push(...(await documentedCommands(loading.commands, name)));
    else {
      const entry = await loading();
      found.push({ name, entry }, ...(await documentedCommands(entry.subcommands ?? {}, name)));
    }
  }
  return found;
}

/** Where commands find their service, and what they show it. */
const SOURCES = [
  "Service address: --url, else --profile, else RDCP_URL, else RDCP_PORT on this host, else the profile's, else",
  'http://127.0.0.1:9465. The profile is that of RDCP_PROFILE, else "default", or the only one (rdcp login).',
  "Credential: --key-file or --token-file, else --profile, else RDCP_API_KEY, else the profile's, else .rdcp/dev-key in",
  'this directory.',
] as const;

/** docs/command-line.md */
export async function commandLineDocument(): Promise<string> {
  const commands = await documentedCommands(root.commands, 'rdcp');
  const shared = Object.entries(CONNECTION_OPTIONS);
  const ofServices = Object.entries(SERVICE_OPTIONS);
  const isIn =
    (some: readonly (readonly [string, CommandOption])[]) =>
    ([, option]: readonly [string, CommandOption]) =>
      some.some(([, each]) => each === option);
  const isShared = isIn(shared);
  const anchor = (name: string) => name.replaceAll(' ', '-');
  const contents = commands.map(({ name, entry }) => `| [\`${name}\`](#${anchor(name)}) | ${escaped(entry.summary)} |`);
  const sections = commands.map(({ name, entry }) => {
    const options = Object.entries(entry.options);
    const own = options.filter((option) => !isShared(option) && !isIn(ofServices)(option));
    const connects = options.some(isShared);
    const several = options.some(isIn(ofServices)) ? ', and those of [several services](#several-services)' : '';
    const usage = [name, ...(entry.operands === undefined ? [] : [entry.operands]), '[options]'].join(' ');
    return [
      `## ${name}`,
      `${entry.summary.charAt(0).toUpperCase()}${entry.summary.slice(1)}.`,
      `\`\`\`sh\n${[`# ${usage}`, ...entry.examples].join('\n')}\n\`\`\``,
      ...(own.length === 0 ? [] : [commandOptions(own)]),
      ...(connects && own.length > 0
        ? [`Also the [options of every command](#options-of-every-command)${several}.`]
        : []),
      ...(connects && own.length === 0
        ? [`It has the [options of every command](#options-of-every-command)${several}.`]
        : []),
      ...(entry.notes === undefined ? [] : [entry.notes.map((line) => escaped(line)).join('\n')]),
    ].join('\n\n');
  });
  return `<!-- Made by \`npm run document\` from src/tools/cli/commands/: change the definitions there. -->

# The command line

\`rdcp <command> --help\` shows the same as this page. Servers of any maker are checked against RDCP 1.0 by a tool of its own,
[rdcp-conformance](../test/conformance/README.md).

## Install it

\`\`\`sh
npm install --global opentelemetry-instrumentation-rdcp
\`\`\`

In a project that has the package, \`npx rdcp\` runs the version of the project. Elsewhere \`npx rdcp\` would be a package of that name, which is
not this one: without an installation it is \`npx opentelemetry-instrumentation-rdcp\`, with the same commands.

## Commands

| command | does |
|---|---|
${contents.join('\n')}

## Exit codes

| code | meaning |
|---|---|
${EXIT_MEANINGS.map(([code, meaning]) => `| ${EXIT[code]} | ${meaning} |`).join('\n')}

## Options of every command

Those of commands that ask a service:

${commandOptions(shared)}

${SOURCES.map((line) => escaped(line)).join('\n')}

## Several services

Commands that take these ask several services at the same time, and show their answers together
([several services at once](operators.md#several-services-at-once)):

${commandOptions(ofServices)}

They may also stand before the command: \`rdcp -s shop,cart list\`. With one name a command does the same as with \`--profile\`. \`--url\` and
\`--profile\` cannot be added; \`--key-file\`, \`--token-file\` and \`--tenant\` are those of every service.

${sections.join('\n\n')}
`;
}

const EXIT_MEANINGS = [
  ['done', 'Done.'],
  ['refused', 'The service refused, or a check failed.'],
  ['usage', 'The command was used wrongly; nothing was sent.'],
  [
    'partial',
    'Applied, but not by every process, or not kept by the store; or done by some of several services; or it is not known whether it was.',
  ],
  ['unreachable', 'No service answered.'],
] as const satisfies (readonly [keyof typeof EXIT, string])[];

function commandOptions(options: readonly (readonly [string, CommandOption])[]): string {
  const rows = options.map(([name, { value, short, help }]) => {
    const flags = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
    return `| \`${flags.replaceAll('|', '\\|')}\` | ${escaped(help)} |`;
  });
  return ['| option | meaning |', '|---|---|', ...rows].join('\n');
}

const ENTRIES = ['index', 'api', 'register', 'client', 'redis', 'postgres'];

/**
 * test/types/api.md: what each entry declares, so that a change of it is seen in review. What an entry before it declares
 * alike is left out. Read from dist/.
 */
export async function apiReport(): Promise<string> {
  const parts: string[] = [];
  const declared = new Set<string>();
  for (const entry of ENTRIES) {
    // One at a time: together, what they share would be in files of its own, under names that change with every type.
    const { output } = await build({
      input: { [`${entry}.d`]: join(ROOT, 'dist', `${entry}.d.ts`) },
      external: /^(?:node:|@opentelemetry\/)/,
      plugins: [dts({ dtsInput: true, generator: 'oxc', sourcemap: false })],
      write: false,
    });
    const text = output[0].code.replace(/\/\*.*?\*\//gs, '').replace(/\n\s*(?=\n)/g, '');
    const declarations = text.trim().split(/\n(?=(?:declare|export|import|interface|type) )/);
    const own = declarations.filter((each) => each.startsWith('export {') || !declared.has(each));
    for (const each of own) declared.add(each);
    const lines = own.map((each) =>
      /^export (?:type )?\{/.test(each) ? each.replace(/(?<=[{,]) | (?=\})/g, '\n') : each,
    );
    parts.push(`\n## ${entry}\n\n\`\`\`ts\n${lines.join('\n')}\n\`\`\`\n`);
  }
  return `<!-- Made by \`npm run document\` from the declarations of the build: a change here is a change for users. -->

# Public types
${parts.join('')}`;
}

if (import.meta.main) {
  writeFileSync(join(ROOT, 'docs/command-line.md'), await commandLineDocument());
  writeFileSync(join(ROOT, 'docs/options.md'), optionsDocument(documentedOptions()));
  writeFileSync(join(ROOT, 'test/types/api.md'), await apiReport());
}
