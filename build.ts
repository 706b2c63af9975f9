// Bundles src/ into dist/, each entry in few files; tsc adds the declarations. With `--benchmarks`, what they measure below
// the entries as well. The JavaScript API of Rolldown, because its command prints a table that cannot be turned off.

import { chmodSync } from 'node:fs';
import { type BuildOptions, build } from 'rolldown';

const COMMAND = 'cli/main';

/** Packages are never bundled: an application decides which version of each it gets. */
const COMMON = {
  platform: 'node',
  external: /^[@\w](?!:)/,
  tsconfig: 'tsconfig.build.json',
} as const satisfies BuildOptions;

/** One copy of whatever several entries need, in chunks; what is imported by `import()` is a chunk of its own. */
const entries: BuildOptions = {
  ...COMMON,
  input: {
    index: 'src/index.ts',
    api: 'src/api.ts',
    register: 'src/register.ts',
    client: 'src/client.ts',
    redis: 'src/redis.ts',
    [COMMAND]: 'src/cli/main.ts',
  },
  output: {
    dir: 'dist',
    cleanDir: true,
    chunkFileNames: 'chunks/[name].js',
    minifyInternalExports: false,
    sourcemap: true,
    sourcemapExcludeSources: true, // src/ is published
  },
};

const benchmarks: BuildOptions = {
  ...COMMON,
  input: 'benchmarks/internals.ts',
  output: { dir: 'benchmarks/built', cleanDir: true },
};

await build(process.argv.includes('--benchmarks') ? [entries, benchmarks] : [entries]);
chmodSync(`dist/${COMMAND}.js`, 0o755);
