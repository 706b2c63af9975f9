import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertBuilt, ROOT } from '../support/built.ts';

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
