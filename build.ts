// Makes dist/: each entry bundled into few files, as ES modules and as CommonJS, with declarations for both. With
// `--benchmarks`, what they measure below the entries as well. It calls Rolldown's JavaScript API, because Rolldown's
// command prints a table that cannot be turned off.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type OutputBundle, type OutputOptions } from 'rolldown';

const ENTRIES = ['index', 'api', 'register', 'client', 'redis'];
/** Bundled alone: what tests share with the other entries would split those into more files. */
const CONTRACT = 'store-contract';
const COMMAND = 'cli/main';
/** Files of their own, so that they run before any chunk. */
const NODE_CHECKS = ['ends-on-old-node', 'throws-on-old-node'];

/**
 * Packages are not bundled: an application decides which version of each it gets. But for zod, of which we use a fifth: the
 * rest, in 95 files, would be loaded before the application's first statement. And for what the command alone uses: no
 * service has to install it.
 */
const COMMON = {
  platform: 'node',
  external: /^(?!(?:zod|commander|fastest-levenshtein)$)[@\w](?!:)/,
  tsconfig: 'tsconfig.build.json',
} as const satisfies BuildOptions;

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

/** Code of the root that other entries, or what it loads later, need too: otherwise each combination is a file of its own. */
const SHARED: NonNullable<Exclude<OutputOptions['codeSplitting'], boolean | undefined>> = {
  groups: [
    { name: 'protocol', test: /\/src\/(?:errors|protocol\/(?:constants|time))\.ts$/, priority: 1 },
    { name: 'shared', test: /\/src\/(?:clock|conditions|deadline|server\/(?:client-address|error-answer))\.ts$/ },
  ],
};

/** Code that several entries need is in shared chunks, once. What is loaded by `import()` is a chunk of its own. */
function bundle(entries: readonly string[], output: BuildOptions['output']): BuildOptions {
  return {
    ...COMMON,
    input: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
    output: {
      chunkFileNames: 'chunks/[name].js',
      minifyInternalExports: false,
      sourcemap: true,
      comments: false,
      plugins: [latin1],
      sourcemapExcludeSources: true, // src/ is published
      ...output,
    },
  };
}

const benchmarks: BuildOptions = {
  ...COMMON,
  input: 'benchmarks/internals.ts',
  output: { dir: 'benchmarks/built', cleanDir: true },
};

/** Every declaration that can be reached from those of the entries, by its path below dist/. */
function publicDeclarations(): ReadonlySet<string> {
  const reached = new Set([...ENTRIES, CONTRACT].map((entry) => `${entry}.d.ts`));
  for (const file of reached) {
    const text = readFileSync(join('dist', file), 'utf8');
    for (const [, target = ''] of text.matchAll(/(?:\bfrom |\bimport\(|\bimport )'(\.[^']+)\.ts'/g)) {
      reached.add(join(dirname(file), `${target}.d.ts`));
    }
  }
  return reached;
}

/** tsc writes one declaration for each source file. Only the public ones stay, and CommonJS gets a copy of them. */
function declare(): void {
  const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  const kept = publicDeclarations();
  for (const file of globSync('**/*.d.ts', { cwd: 'dist' })) {
    if (kept.has(file)) continue;
    rmSync(join('dist', file));
    rmSync(join('dist', `${file}.map`));
  }
  for (const file of kept) {
    mkdirSync(join('dist/cjs', dirname(file)), { recursive: true });
    const text = readFileSync(join('dist', file), 'utf8');
    writeFileSync(join('dist/cjs', file), text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ''));
  }
}

await build(bundle([...ENTRIES, ...NODE_CHECKS], { dir: 'dist', cleanDir: true, codeSplitting: SHARED }));
await build(bundle([CONTRACT], { dir: 'dist' }));
await build(bundle([CONTRACT], { dir: 'dist/cjs', format: 'cjs' }));
// By itself: what its commands share would split the other entries into more files.
await build(bundle([COMMAND], { dir: 'dist', chunkFileNames: 'cli/chunks/[name].js' }));
await build({
  ...bundle([...ENTRIES, ...NODE_CHECKS], {
    dir: 'dist/cjs',
    format: 'cjs',
    dynamicImportInCjs: false,
    codeSplitting: SHARED,
  }),
  checks: { emptyImportMeta: false }, // without it `register` loads the CommonJS of the SDK
});
for (const [name, file] of [
  ['zod', 'LICENSE'],
  ['commander', 'LICENSE'],
  ['fastest-levenshtein', 'LICENSE.md'],
] as const) {
  copyFileSync(`node_modules/${name}/${file}`, `dist/LICENSE.${name}`);
}
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
chmodSync(`dist/${COMMAND}.js`, 0o755);
declare();
if (process.argv.includes('--benchmarks')) await build(benchmarks);
