// Makes dist/: ES modules, CommonJS in dist/cjs/ for tools that cannot require ES modules, declarations for both, and the page of
// the console. With `--benchmarks`, what they measure below the entries as well. It calls Rolldown's JavaScript API, because
// Rolldown's command prints a table that cannot be turned off.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuildOptions, build, type OutputOptions } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { bundledPackages, licencesOf, sbomOf } from './.github/third-party.ts';
import { openApiDocument } from './docs/openapi.ts';

/** The entries of package.json. */
const ENTRIES = ['index', 'api', 'register', 'client', 'redis', 'postgres'];
/** Files of their own: the checks run before the file that imports them first loads another, `register` loads one of its two. */
const PARTS = {
  'loading/ends-on-old-node': 'src/otel/loading/ends-on-old-node.ts',
  'loading/throws-on-old-node': 'src/otel/loading/throws-on-old-node.ts',
  'register/process': 'src/assembly/register/process.ts',
  'register/thread': 'src/assembly/register/thread.ts',
};
/** The command, and the demo that `npx` runs. */
const PROGRAMS = {
  'cli/main': 'src/tools/cli/main.ts',
  'demo/main': 'examples/demo/main.ts',
  'demo/control': 'examples/demo/control.ts',
  'demo/shop': 'examples/shop/main.ts',
};

/**
 * Packages are not bundled: an application decides which version of each it gets. Except zod, of which we use a fifth: its 95 files
 * would be loaded before the application's first statement. And except what the command alone uses: no service has to install it.
 */
const BUNDLED = ['zod', 'commander', 'fastest-levenshtein'];
const externalBut = (bundled: readonly string[]) => new RegExp(`^(?!(?:${bundled.join('|')})$)[@\\w](?!:)`);

const COMMON = {
  platform: 'node',
  external: externalBut(BUNDLED),
  tsconfig: 'tsconfig.build.json',
} as const satisfies BuildOptions;
const OUTPUT: OutputOptions = {
  chunkFileNames: 'chunks/[name].js',
  comments: false,
  // Small files that are loaded together: reading each costs up to a millisecond.
  codeSplitting: {
    groups: [
      { name: 'words', test: /wire\/words\// },
      { name: 'time', test: /wire\/time\// },
    ],
  },
};

/** The page that the endpoint serves, for browsers. */
const PAGE: BuildOptions = {
  input: { console: 'src/tools/console/main.tsx' },
  platform: 'browser',
  tsconfig: 'src/tools/console/tsconfig.json',
  transform: { target: 'es2022' },
  output: { dir: 'dist/console', minify: true, comments: false },
};
const STYLE_SHEETS = ['src/tools/console/console.css', 'src/tools/console/views.css'];

const ENTRY_FILES = Object.fromEntries(ENTRIES.map((name) => [name, `src/${name}.ts`]));

const modules: BuildOptions = {
  ...COMMON,
  input: { ...ENTRY_FILES, ...PARTS, ...PROGRAMS },
  // The maps say what was bundled. They are not published: they would be a quarter of the package.
  output: { ...OUTPUT, dir: 'dist', sourcemap: 'hidden', sourcemapExcludeSources: true },
};

/** For Jest, and for Node.js with `--no-experimental-require-module`. */
const commonJs: BuildOptions = {
  ...COMMON,
  // These are ES modules alone, which cannot be required there.
  external: externalBut([...BUNDLED, 'jose', '@marcbachmann/cel-js']),
  checks: { emptyImportMeta: false }, // `register` recognizes CommonJS by an empty import.meta
  input: { ...ENTRY_FILES, ...PARTS },
  output: { ...OUTPUT, dir: 'dist/cjs', format: 'cjs', strict: true, dynamicImportInCjs: false },
};

const benchmarks: BuildOptions = {
  ...COMMON,
  input: 'benchmarks/internals.ts',
  output: { dir: 'benchmarks/built', cleanDir: true },
};

/** Declarations: tsc writes one for each source file; those of an entry are put together into few, the same for both formats. */
async function declare(): Promise<void> {
  const declared = mkdtempSync(join(tmpdir(), 'rdcp-declared-'));
  try {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', declared];
    const { status } = spawnSync(process.execPath, tsc, { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
    await build({
      input: Object.fromEntries(ENTRIES.map((entry) => [`${entry}.d`, join(declared, `${entry}.d.ts`)])),
      external: COMMON.external,
      // The generator is never asked: tsc has written the declarations.
      plugins: [dts({ dtsInput: true, generator: 'oxc', sourcemap: false })],
      output: { dir: 'dist', chunkFileNames: 'chunks/[name].ts' },
    });
  } finally {
    rmSync(declared, { recursive: true });
  }
  for (const file of globSync('{*,chunks/*}.d.ts', { cwd: 'dist' })) cpSync(join('dist', file), join('dist/cjs', file));
}

for (const folder of ['dist', 'benchmarks/built']) rmSync(folder, { recursive: true, force: true });
const outputs = [await build(modules), await build(commonJs), await build(PAGE)];
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
await declare();
for (const file of ['index.html', 'icon.svg']) copyFileSync(`src/tools/console/${file}`, `dist/console/${file}`);
writeFileSync('dist/console/console.css', STYLE_SHEETS.map((file) => readFileSync(file, 'utf8')).join('\n'));
for (const command of ['cli/main', 'demo/main']) chmodSync(`dist/${command}.js`, 0o755);
writeFileSync('dist/openapi.json', JSON.stringify(openApiDocument()));
const bundled = bundledPackages(outputs);
writeFileSync('dist/THIRD_PARTY.md', licencesOf(bundled));
writeFileSync('dist/sbom.cdx.json', sbomOf(bundled));
if (process.argv.includes('--benchmarks')) await build(benchmarks);
