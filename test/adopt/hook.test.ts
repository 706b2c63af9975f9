import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Loaded, onlyRequiredMessage, watchModules } from '../../src/adopt/hook.ts';
import { watchByInstrumentation } from '../../src/adopt/otel/hook.ts';
import { Adopter } from '../../src/adopt/process.ts';
import type { AdoptedModule } from '../../src/adopt/types.ts';
import { GateCore } from '../../src/gate/core.ts';
import { newFolder } from '../support/folder.ts';
import { run } from './application.ts';

interface Compiling {
  _compile(source: string, file: string): unknown;
}

interface Internals {
  readonly _extensions: Record<'.js', (module: Compiling, file: string) => void>;
  readonly prototype: Compiling;
}

const NOISY: AdoptedModule = { name: 'noisy', versions: '>=1.0.0 <2', file: 'lib/main.js' };
const NOISY_MODULE: AdoptedModule = { name: 'noisy', versions: '>=1.0.0 <2', file: 'esm/main.js', esm: true };

/** A project with packages in folders of any name, and what the hook has seen of them. */
function project(t: TestContext) {
  const directory = newFolder(t);
  const load = createRequire(join(directory, 'app.js'));
  t.after(() => {
    for (const file of Object.keys(load.cache)) if (file.startsWith(directory)) delete load.cache[file];
  });
  const seen: Loaded[] = [];
  const failures: unknown[] = [];
  const unsupported: string[] = [];
  const write = (file: string, text: string) => {
    mkdirSync(join(directory, file, '..'), { recursive: true });
    writeFileSync(join(directory, file), text);
    return join(directory, file);
  };
  return {
    seen,
    failures,
    unsupported,
    write,
    load,
    watch: (modules = [NOISY, NOISY_MODULE]) => {
      const stop = watchModules(modules, {
        loaded: (loaded) => seen.push(loaded),
        unsupported: ({ name }, version) => unsupported.push(`${name} ${version}`),
        onlyRequired: assert.fail,
        failed: (error) => failures.push(error),
      });
      t.after(stop);
      return stop;
    },
    install: (
      folder: string,
      { name = 'noisy', version = '1.2.3', main = 'module.exports = { loaded: true } // end', ...rest } = {},
    ) => {
      write(`node_modules/${folder}/package.json`, JSON.stringify({ name, version, main: 'lib/main.js', ...rest }));
      return write(`node_modules/${folder}/lib/main.js`, main);
    },
    import: async (file: string) => (await import(pathToFileURL(file).href)).default,
  };
}

test('each copy of a package is handed over, required or imported, whatever its folder is called', async (t) => {
  const { install, watch, seen, failures, load, ...rest } = project(t);
  const files = ['noisy', 'quiet', '@scope/other/node_modules/noisy'].map((folder) => install(folder));
  install('elsewhere', { name: 'elsewhere' });
  watch();
  const [required, imported, nested] = [load('noisy'), await rest.import(files[1]!), load(files[2]!)];
  load('elsewhere');
  assert.deepEqual(
    seen.map(({ exports }) => exports),
    [required, imported, nested],
  );
  assert.deepEqual(
    seen.map(({ copy }) => [copy.name, copy.version, copy.loadedBefore]),
    seen.map(() => ['noisy', '1.2.3', false]),
  );
  assert.equal(seen[1]?.copy.url, pathToFileURL(files[1]!).href);
  assert.equal(await rest.import(files[0]!), required, 'an import after a require is the same copy');
  assert.equal(load(files[1]!), imported, 'a require after an import is the same copy');
  assert.equal(seen.filter(({ exports }) => exports === required).length, 1);
  assert.deepEqual(failures, []);
});

test('the ECMAScript build of a package is handed over with what it exports', async (t) => {
  const { install, write, watch, seen, failures, ...rest } = project(t);
  install('noisy');
  write('node_modules/noisy/esm/package.json', '{ "type": "module" }');
  write('node_modules/noisy/esm/part.js', 'export class Logger {}');
  const file = write('node_modules/noisy/esm/main.js', "export * from './part.js';\nexport default 7; // end");
  watch();
  assert.equal(await rest.import(file), 7);
  const exported = await import(pathToFileURL(file).href);
  const found = seen.map(({ exports, copy }) => [exports === exported, copy.version]);
  assert.deepEqual([found, failures], [[[true, '1.2.3']], []]);
});

test('a file whose source is edited runs as edited, and is not handed over', async (t) => {
  const { install, write, watch, seen, failures, load, ...rest } = project(t);
  install('noisy');
  write('node_modules/noisy/esm/package.json', '{ "type": "module" }');
  const file = write('node_modules/noisy/esm/main.js', 'export default 7;');
  const before = write('node_modules/noisy/lib/part.js', 'module.exports = 7;');
  assert.equal(load(before), 7);
  const edit = (source: string) => source.replace('7', '8');
  watch([
    { ...NOISY_MODULE, edit },
    { ...NOISY, file: 'lib/part.js', edit },
  ]);
  assert.equal(await rest.import(file), 8);
  assert.deepEqual([seen, failures], [[], []]);
});

test('a version that has another file is supported', (t) => {
  const { install, watch, seen, unsupported, load } = project(t);
  install('noisy', { version: '2.0.0' });
  const newer = { ...NOISY, versions: '>=2 <3', file: 'dist/main.js' };
  watch([NOISY, newer]);
  load('noisy');
  t.after(
    watchByInstrumentation([NOISY, newer], {
      loaded: () => {},
      unsupported: (_module, version) => unsupported.push(version),
    }),
  );
  load('noisy');
  assert.deepEqual([seen, unsupported], [[], []]);
});

test('what was loaded before is handed over at once', async (t) => {
  const { install, watch, seen, load, ...rest } = project(t);
  install('noisy');
  const imported = await rest.import(install('second'));
  const required = load('noisy');
  watch();
  const early = seen.map(({ exports, copy }) => [exports, copy.loadedBefore]);
  assert.deepEqual(early.length, 2);
  assert.deepEqual(new Set(early.map(([exports]) => exports)), new Set([imported, required]));
  assert.deepEqual(
    early.map(([, before]) => before),
    [true, true],
  );
});

test('versions that are not known, files that are no CommonJS, and packages without a manifest load as ever', async (t) => {
  const { install, write, watch, seen, failures, unsupported, load, ...rest } = project(t);
  watch();
  install('newer', { version: '2.0.0' });
  install('odd', { version: 'next' });
  install('nameless', { name: '' });
  const module = install('module', { main: 'export default 7', type: 'module' } as never);
  const bare = write('lib/main.js', 'module.exports = 5');
  assert.deepEqual([load('newer'), load('odd'), load('nameless')], Array(3).fill({ loaded: true }));
  assert.deepEqual([await rest.import(module), load(bare)], [7, 5]);
  assert.throws(() => load(install('broken', { main: 'throw new Error("its own")' })), /its own/);
  assert.throws(() => load(install('syntax', { main: 'module exports' })), SyntaxError);
  assert.deepEqual([seen, failures], [[], []]);
  assert.deepEqual(new Set(unsupported), new Set(['noisy 2.0.0', 'noisy next']));
});

test('a stack trace, a strict mode and the arguments of a module are its own', (t) => {
  const { install, watch, seen, load } = project(t);
  const main = `'use strict';\nmodule.exports = () => { throw new Error('line 2'); };\nexports.unused = this === exports;\n//# sourceMappingURL=none.map`;
  const file = install('noisy', { main });
  watch();
  const fail: () => void = load('noisy');
  assert.throws(fail, (error: Error) => error.stack?.includes(`${file}:2:`) === true);
  assert.deepEqual([seen.length, load.cache[file]?.exports], [1, fail]);
});

test('after the end nothing is handed over, and files that were loaded run as before', (t) => {
  const { install, watch, seen, load } = project(t);
  install('noisy');
  const later = install('later');
  const stop = watch();
  load('noisy');
  stop();
  load(later);
  assert.deepEqual(seen.length, 1);
  assert.equal(
    Object.getOwnPropertySymbols(globalThis).some((key) => String(key).includes('rdcp.loaded')),
    false,
  );
});

test('what fails in a listener does not reach the application', (t) => {
  const { install, watch, seen, failures, load } = project(t);
  install('noisy');
  Object.assign(seen, { push: () => assert.fail('broken listener') });
  watch();
  assert.deepEqual(load('noisy'), { loaded: true });
  assert.equal(failures.length, 1);
});

test("where synchronous hooks are not safe, OpenTelemetry's hooks hand over what is required", (t) => {
  const { install, load } = project(t);
  install('noisy');
  install('noisy-2/node_modules/noisy', { version: '2.0.0' });
  const seen: Loaded[] = [];
  const unsupported: string[] = [];
  const stop = watchByInstrumentation([NOISY], {
    loaded: (loaded) => seen.push(loaded),
    unsupported: (_module, version) => unsupported.push(version),
  });
  const exported = load('noisy');
  load('./node_modules/noisy-2/node_modules/noisy/lib/main.js');
  stop();
  assert.deepEqual(
    seen.map(({ exports, copy }) => [exports, copy.version]),
    [[exported, '1.2.3']],
  );
  assert.deepEqual(unsupported, ['2.0.0']);
});

test('a release of Node.js where only what is required is found says so, with those that find everything', (t) => {
  const { node } = process.versions;
  t.after(() => Object.defineProperty(process.versions, 'node', { value: node, configurable: true, enumerable: true }));
  for (const [version, expected] of [
    ['22.15.0', 1],
    ['24.11.0', 1],
    ['22.22.3', 0],
    ['24.11.1', 0],
    ['26.0.0', 0],
  ] as const) {
    Object.defineProperty(process.versions, 'node', { value: version, configurable: true, enumerable: true });
    const warnings: string[] = [];
    const adopter = new Adopter({ gate: new GateCore() });
    const leave = adopter.join({ options: { pino: true }, warn: (message) => warnings.push(message) });
    adopter.join({ options: { debug: true }, warn: assert.fail })();
    leave();
    assert.equal(warnings.length, expected, version);
    if (expected === 1) assert.match(warnings[0]!, /imported .* Node\.js 22\.22\.3, 24\.11\.1, 26 and later/);
  }
});

test("what is imported through OpenTelemetry's loader is handed over as it is required", async (t) => {
  const app = `
    import { watchByInstrumentation } from ${JSON.stringify(import.meta.resolve('../../src/adopt/otel/hook.ts'))};
    const seen = [];
    const modules = [['debug', 'src/index.js'], ['pino', 'pino.js']];
    watchByInstrumentation(
      modules.map(([name, file]) => ({ name, versions: '>=4 <11', file })),
      { loaded: ({ exports }) => seen.push(exports), unsupported: () => {} },
    );
    const { default: debug } = await import('debug');
    const { default: pino } = await import('pino');
    console.log(JSON.stringify([debug, pino].map((each) => seen.filter((exports) => exports === each).length > 0)));
    console.log(seen.every((exports) => typeof exports === 'function'));`;
  const { stdout } = await run(t, app, { preload: ['./otel-hook.mjs'] });
  assert.equal(stdout, '[true,true]\ntrue\n');
});

test('a loader that compiles required files by itself, as tsx does, is watched, too', (t) => {
  const { install, watch, seen, load } = project(t);
  const { _extensions: extensions, prototype } = nodeModule as unknown as Internals;
  const { '.js': ofNode } = extensions;
  const compile = prototype._compile;
  extensions['.js'] = (module, file) => void module._compile(readFileSync(file, 'utf8'), file);
  t.after(() => {
    extensions['.js'] = ofNode;
  });
  const file = install('noisy');
  const stop = watch();
  assert.deepEqual(load('noisy'), { loaded: true });
  assert.deepEqual(
    seen.map(({ exports, copy }) => [exports, copy.url]),
    [[{ loaded: true }, pathToFileURL(file).href]],
  );
  stop();
  assert.equal(prototype._compile, compile);
  extensions['.js'] = ofNode;
  watch();
  load(install('later'));
  assert.equal(prototype._compile, compile, 'while Node.js loads files by itself');
});

test('a runtime that names a release with hooks, but has none, is not told that this release finds everything', () => {
  for (const release of ['22.15.0', '25.0.0']) assert.match(onlyRequiredMessage(release), /^adopt: on Node\.js /);
  // Bun 1.4.5 names this one.
  assert.match(onlyRequiredMessage('26.3.0'), /^adopt: this runtime lacks module\.registerHooks of Node\.js: [^0-9]*$/);
});
