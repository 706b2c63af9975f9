// Makes dist/: all code once, as CommonJS in few files, with an ES module over each entry, and declarations for both. With
// `--benchmarks`, what they measure below the entries as well. It calls Rolldown's JavaScript API, because Rolldown's
// command prints a table that cannot be turned off.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type BuildOptions, build, type OutputBundle, type OutputOptions } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';
import { dts } from 'rolldown-plugin-dts';
import { ERROR_STATUS } from './src/errors.ts';

const ENTRIES = ['index', 'api', 'register', 'client', 'redis', 'store-contract'];
/** ES modules that hand on what is in the CommonJS file of the same name. */
const FACES = ['index', 'redis', 'store-contract'];
/** ES modules with the code itself, small: bundlers take them apart, and browsers load the client as it is. */
const MODULES = ['api', 'client'];
/** What `register` loads in the main thread, and in a worker thread. */
const REGISTER = ['register/process', 'register/thread'];
/** Programs: the command, and the shop of the demo. */
const PROGRAMS = { 'cli/main': 'src/cli/main.ts', 'demo/shop': 'examples/shop/main.ts' };
/** The command that `npx` runs, and what controls its shop where there is no SDK. */
const DEMO = { 'demo/main': 'examples/demo/main.ts', 'demo/control': 'examples/demo/control.ts' };

/**
 * Packages are not bundled: an application decides which version of each it gets. But for zod, of which we use a fifth: the
 * rest, in 95 files, would be loaded before the application's first statement. And for what the command alone uses: no
 * service has to install it.
 */
const EXTERNAL = /^(?!(?:zod|commander|fastest-levenshtein)$)[@\w](?!:)/;
const HANDED_ON = 'globalThis[Symbol.for("opentelemetry-instrumentation-rdcp.es-modules")]';
const CHECK = 'check:';
const COMMON = {
  platform: 'node',
  external: EXTERNAL,
  tsconfig: 'tsconfig.build.json',
} as const satisfies BuildOptions;

/** zod's way to JSON Schemas, which we never make: every schema refers to it, so it would not be left out by itself. */
const withoutJsonSchema = {
  name: 'without-json-schema',
  transform(code: string, id: string) {
    if (!/\/zod\/v4\/core\/(?:to-json-schema|json-schema-processors)\.js$/.test(id)) return undefined;
    const names = [...code.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);
    return {
      code: `const none = () => {};\nexport { ${names.map((name) => `none as ${name}`).join(', ')} };`,
      map: null,
    };
  },
};

/** V8 keeps a source with a single character beyond Latin-1 at two bytes a character, for as long as the process lives. */
const latin1 = {
  name: 'latin1',
  generateBundle(_options: unknown, files: OutputBundle) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue;
      file.code = file.code.replace(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    }
  },
};

/**
 * Starts each statement and each member of a class on a line of its own. Node prints the whole source line of an uncaught
 * error, and the line numbers of stack traces should tell something.
 */
const lines = {
  name: 'lines',
  generateBundle(_options: unknown, files: OutputBundle) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue;
      const { code } = file;
      const starts = [...new Set(lineStarts(parseAst(code)))].sort((a, b) => a - b);
      file.code = starts.map((start, at) => `${at === 0 ? '' : '\n'}${code.slice(start, starts[at + 1])}`).join('');
    }
  },
};

/** Where a line may begin: at the start of the code, and wherever a node stands in a list of statements or class members. */
function lineStarts(node: unknown, starts: number[] = [0]): number[] {
  if (Array.isArray(node)) for (const each of node) lineStarts(each, starts);
  else if (typeof node === 'object' && node !== null) {
    if ('body' in node && Array.isArray(node.body))
      starts.push(...node.body.map(({ start }: { start: number }) => start));
    for (const part of Object.values(node)) lineStarts(part, starts);
  }
  return starts;
}

/**
 * Code that several entries need, put together by what loads it: without names, each combination is a file of its own.
 * `protocol` is what `rdcp --version` and most commands load: it has no dependency that takes long.
 */
const SHARED: NonNullable<Exclude<OutputOptions['codeSplitting'], boolean | undefined>> = {
  groups: [
    {
      name: 'protocol',
      test: /\/src\/(?:errors|printable|version|auth\/(?:api-key|dev-key)|store\/fleet-store|protocol\/(?:constants|duplicate-names|emission|names|time))\.ts$/,
      priority: 1,
    },
    {
      name: 'config-and-stores',
      test: /\/node_modules\/zod\/|\/src\/(?:clock|conditions|config|deadline|diagnostics|hosts|semconv|telemetry|auth\/keys-file|audit\/(?:chain|log-record|signature)|protocol\/audit-entry|server\/client-address|store\/(?:audit-query|open|prune-plan|settings-json|subscribers))\.ts$/,
    },
  ],
};

/** The check of Node's version stands in the entries themselves, so that it runs before any chunk is loaded. */
const checksOfNode = {
  name: 'checks-of-node',
  resolveId: (id: string) =>
    id.endsWith('-on-old-node.ts') ? { id: CHECK + basename(id, '.ts'), external: true } : undefined,
  async generateBundle(_options: unknown, files: OutputBundle) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue;
      for (const [call, name = ''] of file.code.matchAll(/require\("check:([\w-]+)"\);/g)) {
        const { output } = await build({
          ...COMMON,
          input: `src/${name}.ts`,
          write: false,
          output: { ...OUTPUT, format: 'iife' },
        });
        file.code = file.code.replace(call, '').replace('"use strict";', (strict) => `${strict}\n${output[0].code}`);
      }
    }
  },
};

/**
 * OpenTelemetry's packages are ES modules and CommonJS, and a process that has both has two copies. So where one of our ES
 * modules is loaded, it hands on those that an ES module gets (`src/handed-on.ts`). And jose is an ES module alone.
 */
const otherModules = {
  name: 'other-modules',
  generateBundle(_options: unknown, files: OutputBundle) {
    const chunks = Object.values(files).filter((file) => file.type === 'chunk');
    for (const [found, replaced] of [
      [/require\("(@opentelemetry\/[\w-]+)"\)/g, `(${HANDED_ON}?.("$1")??$&)`],
      [/Promise\.resolve\(\)\.then\(\(\)=>[^()]*\(require\("jose"\),1\)\)/, '$&.catch(()=>import("jose"))'],
    ] as const) {
      const concerned = chunks.filter(({ code }) => code.search(found) !== -1);
      if (concerned.length === 0) throw new Error(`no chunk has ${found}: Rolldown writes it otherwise now`);
      for (const chunk of concerned) chunk.code = chunk.code.replace(found, replaced);
    }
  },
};

/** Rolldown's helpers are a chunk of their own, and reading a file costs more than what is in it: they go into `protocol`. */
const withoutRuntime = {
  name: 'without-runtime',
  generateBundle(_options: unknown, files: OutputBundle) {
    const { 'chunks/rolldown-runtime.js': runtime, 'chunks/protocol.js': protocol } = files;
    if (runtime?.type !== 'chunk' || protocol?.type !== 'chunk')
      throw new Error('no chunk rolldown-runtime, or no protocol');
    protocol.code += `exports.runtime=(exports=>{${runtime.code};return exports})({});`;
    delete files[runtime.fileName];
    for (const file of Object.values(files)) {
      if (file.type === 'chunk')
        file.code = file.code.replace(
          /require\("([./\w-]+\/)rolldown-runtime\.js"\)/,
          'require("$1protocol.js").runtime',
        );
    }
  },
};

/** A smaller renderer with the part of preact that the page uses. The types are preact's. */
const VNODE = join(import.meta.dirname, 'src/console/dom/vnode.ts');
const RENDERER: Readonly<Record<string, string>> = {
  preact: join(import.meta.dirname, 'src/console/dom/render.ts'),
  'preact/hooks': join(import.meta.dirname, 'src/console/dom/hooks.ts'),
};

/** Members of objects that the page never uses. Each is one statement in its file. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  'client/client.ts': ['enable', 'disable', 'toggle', 'reset', 'status', 'metrics', 'auditEntries', 'consoleCode'],
  'client/tokens.ts': ['async clientCredentials'],
  'protocol/constants.ts': ['metrics', 'introspect', 'jwks', 'metadata', 'isolationLevel', 'tenantName', 'replayed'],
  // Of refusals the page knows the status. These are of errors that the client makes.
  'errors.ts': Object.keys(ERROR_STATUS).filter((code) => !/UNAVAILABLE|TIMEOUT|VERSION/.test(code)),
};

/** Files of the client that the page does without, and what takes their place. */
const UNNEEDED: Readonly<Record<string, string>> = {
  // The page comes from the very server that it asks, so the scheme of the address is right.
  'wrong-scheme.ts':
    'export const answeredByTlsPort = () => undefined;\nexport const failedByScheme = answeredByTlsPort;',
  // What the page does about a refusal follows from its status.
  'known-code.ts': 'export const knownCode = (code) => code;',
};

/** What would make the page larger than it needs to be. */
const slim = {
  name: 'slim',
  resolveId: (id: string) => RENDERER[id],
  transform(code: string, id: string) {
    const members = UNUSED[/\/src\/((?:\w+\/)?[\w-]+\.ts)$/.exec(id)?.[1] ?? ''];
    if (members === undefined) return undefined;
    const without = (text: string, member: string) => {
      const shorter = text.replace(new RegExp(`^ +${member}(?:: .*|\\([^]*?^ {4}\\}),\\n`, 'm'), '');
      if (shorter === text) throw new Error(`${id} has no member ${member}`);
      return shorter;
    };
    return { code: members.reduce(without, code), map: null };
  },
  load: (id: string) => UNNEEDED[/\/src\/client\/([\w-]+\.ts)$/.exec(id)?.[1] ?? ''],
};

const PAGE_ENTRY = 'page';
/**
 * Code without markup first: gzip finds what was said before only 32 KiB back, so what is alike stands together. Saves 700 bytes,
 * and backwards 90 more.
 */
const alikeTogether = {
  name: 'alike-together',
  resolveId: (id: string, importer?: string) =>
    id === PAGE_ENTRY ? id : importer === PAGE_ENTRY ? { id, moduleSideEffects: true } : undefined,
  load(id: string) {
    if (id !== PAGE_ENTRY) return undefined;
    const files = [...globSync('src/console/**/*.ts').sort().reverse(), 'src/console/main.tsx'];
    return files.map((file) => `import ${JSON.stringify(join(import.meta.dirname, file))};`).join('\n');
  },
};

/** The page that the endpoint serves, for browsers. */
const PAGE: BuildOptions = {
  plugins: [alikeTogether, slim],
  input: { console: PAGE_ENTRY },
  platform: 'browser',
  tsconfig: 'src/console/tsconfig.json',
  transform: {
    target: 'es2022',
    jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' },
    inject: { h: [VNODE, 'h'], Fragment: [VNODE, 'Fragment'] },
  },
  output: { dir: 'dist/console', minify: true, comments: false },
};

/** Names of functions and classes stay: they are what a stack trace tells. */
const minified = (names: { readonly function: boolean; readonly class: boolean }) => ({
  compress: true,
  mangle: { keepNames: names },
  codegen: { removeWhitespace: true },
});

const OUTPUT: OutputOptions = {
  chunkFileNames: 'chunks/[name].js',
  minifyInternalExports: true,
  minify: minified({ function: true, class: true }),
  comments: false,
};

const sources = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));

/** A style sheet of the page without comments and indentation. */
const styles = (name: string) =>
  readFileSync(`src/console/${name}.css`, 'utf8')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s*\n\s*/g, '\n')
    .replaceAll(/^\n|(?<=[{},;])\n|\n(?=\})/g, '')
    .replaceAll(/ (?=\{)|(?<=[:,]) |;(?=\})/g, '');

const benchmarks: BuildOptions = {
  ...COMMON,
  input: 'benchmarks/internals.ts',
  output: { dir: 'benchmarks/built', cleanDir: true },
};

/**
 * Declarations: tsc writes one for each source file; those of an entry are put together into few. Those for CommonJS refer to
 * them, because TypeScript takes declarations for ES modules where they lie beside ES modules.
 */
async function declare(values: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const declared = mkdtempSync(join(tmpdir(), 'rdcp-declared-'));
  try {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', declared];
    const { status } = spawnSync(process.execPath, tsc, { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
    await build({
      input: Object.fromEntries(ENTRIES.map((entry) => [`${entry}.d`, join(declared, `${entry}.d.ts`)])),
      external: EXTERNAL,
      // The generator is never asked: tsc has written the declarations.
      plugins: [dts({ dtsInput: true, generator: 'oxc', sourcemap: false })],
      output: { dir: 'dist', chunkFileNames: 'chunks/[name].ts' },
    });
  } finally {
    rmSync(declared, { recursive: true });
  }
  const classes = new Set(
    globSync('dist/{*,chunks/*}.d.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bclass (\w+)/g)].map(([, name]) => name),
    ),
  );
  for (const entry of ENTRIES) {
    const from = `'../${entry}.js' with { 'resolution-mode': 'import' };`;
    const lines = (values.get(entry) ?? []).flatMap((name) => [
      `export declare const ${name}: typeof esm.${name};`,
      ...(classes.has(name) ? [`export type ${name} = esm.${name};`] : []),
    ]);
    if (lines.length > 0) lines.unshift(`export type * from ${from}`, `import type * as esm from ${from}`);
    writeFileSync(`dist/cjs/${entry}.d.ts`, `${[...lines, 'export {};'].join('\n')}\n`);
  }
}

for (const folder of ['dist', 'benchmarks/built']) rmSync(folder, { recursive: true, force: true });
const { output } = await build({
  ...COMMON,
  checks: { emptyImportMeta: false, bundlerTimings: false }, // `register` knows its CommonJS by an empty import.meta
  input: { ...sources([...ENTRIES, ...REGISTER]), ...PROGRAMS },
  plugins: [withoutJsonSchema, checksOfNode],
  output: {
    ...OUTPUT,
    dir: 'dist/cjs',
    format: 'cjs',
    strict: true,
    dynamicImportInCjs: false,
    codeSplitting: SHARED,
    plugins: [otherModules, withoutRuntime, lines, latin1],
  },
});
const exported = new Map(
  output.flatMap((file) => (file.type === 'chunk' && file.isEntry ? [[file.name, file.exports]] : [])),
);
await build({
  ...COMMON,
  input: { ...sources([...MODULES, 'es-modules']), ...DEMO },
  output: { ...OUTPUT, dir: 'dist', plugins: [lines, latin1] },
});
await build({ ...COMMON, input: sources(['register']), output: { ...OUTPUT, dir: 'dist', plugins: [lines, latin1] } });
for (const face of FACES) {
  const names = exported.get(face)?.join(', ');
  writeFileSync(
    `dist/${face}.js`,
    `import './es-modules.js';\nimport commonJs from './cjs/${face}.js';\nexport const { ${names} } = commonJs;\n`,
  );
}
mkdirSync('dist/cli');
for (const program of Object.keys(PROGRAMS)) {
  writeFileSync(`dist/${program}.js`, `#!/usr/bin/env node\nimport '../cjs/${program}.js';\n`);
}
await build(PAGE);
for (const file of ['index.html', 'icon.svg']) copyFileSync(`src/console/${file}`, `dist/console/${file}`);
writeFileSync('dist/console/console.css', ['console', 'views'].map(styles).join(''));
for (const command of ['cli/main', 'demo/main']) chmodSync(`dist/${command}.js`, 0o755);
await declare(exported);
for (const [name, file] of [
  ['zod', 'LICENSE'],
  ['commander', 'LICENSE'],
  ['fastest-levenshtein', 'LICENSE.md'],
] as const) {
  copyFileSync(`node_modules/${name}/${file}`, `dist/LICENSE.${name}`);
}
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
if (process.argv.includes('--benchmarks')) await build(benchmarks);
