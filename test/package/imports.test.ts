import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it, test } from 'node:test';
import { parseAst } from 'rolldown/parseAst';
import { assertBuilt, ROOT } from '../support/built.ts';

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, unknown>>;
}

const { name, dependencies, peerDependencies, imports }: Manifest = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const INSTALLED = new Set([name, ...Object.keys(dependencies), ...Object.keys(peerDependencies)]);

/** Functions that load the module their first argument names: `require`, `createRequire(…)(…)`, and our own for optional packages. */
const LOADERS = new Set(['require', 'createRequire', 'loadPackage', 'loadPackageOf']);

/** The modules that a file names: in import and export statements, `import()`, and calls of `require` and its kin. */
function specifiersIn(file: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, source, callee, arguments: args } = node as Partial<Record<string, never>>;
    const named = type === 'CallExpression' && LOADERS.has(calledName(callee)) ? args?.[0] : source;
    const { type: kind, value } = (named ?? {}) as { readonly type?: string; readonly value?: unknown };
    if (kind === 'Literal' && typeof value === 'string') found.push(value);
    Object.values(node).forEach(visit);
  };
  visit(parseAst(readFileSync(join(ROOT, file), 'utf8'), { lang: file.endsWith('.d.ts') ? 'dts' : 'js' }, file));
  return found;
}

/** `createRequire` of `createRequire(url)(…)`. */
function calledName(callee: unknown): string {
  const { name, callee: inner } = (callee ?? {}) as {
    readonly name?: string;
    readonly callee?: { readonly name?: string };
  };
  return name ?? inner?.name ?? '';
}

const isFound = (specifier: string, file: string) => {
  if (specifier.startsWith('.')) {
    const path = join(ROOT, dirname(file), specifier);
    return existsSync(path) || existsSync(path.replace(/\.js$/, '.d.ts'));
  }
  if (specifier.startsWith('#')) return specifier in imports;
  const [first = '', second] = specifier.split('/');
  return isBuiltin(specifier) || INSTALLED.has(first.startsWith('@') ? `${first}/${second}` : first);
};

test('every module that the package imports is its own, built in, a dependency or a peer', () => {
  assertBuilt();
  const files = globSync('dist/**/*.{js,d.ts}', { cwd: ROOT, exclude: ['dist/console/**'] }).sort();
  const named = files.flatMap((file) => specifiersIn(file).map((specifier) => ({ file, specifier })));
  // That all forms are seen: a static import, import(), createRequire(), and `import type` of a declaration.
  for (const known of ['koa', 'koa-body', '@marcbachmann/cel-js', '@opentelemetry/sdk-node']) {
    assert.ok(
      named.some(({ specifier }) => specifier === known),
      known,
    );
  }
  assert.deepEqual(
    named.filter(({ file, specifier }) => !isFound(specifier, file)),
    [],
  );
});

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

it('every install script of a dependency is allowed by name, because npm 12 runs no other', () => {
  const { packages }: { packages: Record<string, { hasInstallScript?: boolean }> } = JSON.parse(
    read('package-lock.json'),
  );
  const withScripts = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(Object.keys(JSON.parse(read('package.json')).allowScripts).sort(), [...new Set(withScripts)].sort());
});

interface Sbom {
  readonly metadata: { readonly component: { readonly purl: string } };
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
}

describe('what is bundled of other packages', () => {
  assertBuilt();
  const { metadata, components }: Sbom = JSON.parse(read('dist/sbom.cdx.json'));

  it('is in the SBOM, in the version that is installed', () => {
    const sources = globSync('dist/**/*.js.map', { cwd: ROOT }).flatMap(
      (file) => (JSON.parse(read(file)) as { readonly sources: readonly string[] }).sources,
    );
    const bundled = sources.flatMap((source) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
    assert.ok(bundled.includes('zod'));
    const listed = components.map(({ name }) => name);
    for (const name of [...new Set(bundled), 'preact']) assert.ok(listed.includes(name), name);
    for (const { name, version, purl } of components) {
      assert.equal(JSON.parse(read(`node_modules/${name}/package.json`)).version, version);
      assert.equal(purl, `pkg:npm/${name.replace('@', '%40')}@${version}`);
    }
    const { name, version } = JSON.parse(read('package.json'));
    assert.equal(metadata.component.purl, `pkg:npm/${name}@${version}`);
  });

  it('is named in THIRD_PARTY.md, with the text of its licence', () => {
    const sections = read('dist/THIRD_PARTY.md')
      .split(/^(?=## )/m)
      .slice(1);
    assert.deepEqual(
      sections.map((section) => /^## (.*)$/m.exec(section)?.[1]),
      components.map(({ name, version }) => `${name} ${version}`),
    );
    for (const section of sections) assert.match(section, /Permission is hereby granted/);
  });
});
