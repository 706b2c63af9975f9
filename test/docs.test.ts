import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, test } from 'node:test';
import { documentedOptions, flat, optionsDocument } from '../docs/document.ts';
import { publishedRun, withFigures } from '../docs/performance.ts';
import { CONDITIONS } from '../src/otel/report/conditions.ts';
import { schemaOptions } from './package/options.ts';

test('docs/messages.md lists every condition with what is said of it', () => {
  const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'messages.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| (.*?) ?\| (.*?) ?\| (.*?) \| (.+) \|$/gm)];
  const documented = rows.map(([, name, meanwhile, credentials, over]) => [
    name,
    meanwhile,
    credentials === 'yes',
    over,
  ]);
  const said = Object.entries(CONDITIONS).map(([name, meaning]) => [
    name,
    'meanwhile' in meaning ? meaning.meanwhile : '',
    meaning.credentials,
    meaning.over,
  ]);
  assert.deepEqual(documented, said);
});

const ROOT = join(import.meta.dirname, '..');
const OF_THE_REPOSITORY = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md'];
/** Forms, source and examples, which name documents in their text. */
const NAMING = globSync(['.github/**/*.{md,yml}', 'src/**/*.{ts,tsx}', 'examples/**/*.{md,ts,yml}'], { cwd: ROOT });
const DECISIONS = globSync('docs/decisions/*.md', { cwd: ROOT });
const FOR_READERS = [...OF_THE_REPOSITORY, ...globSync('docs/*.md', { cwd: ROOT })];
const DOCUMENTS = ['README.md', ...FOR_READERS, ...DECISIONS];

describe('a link in the documents', () => {
  /** The fragments of a document's headings, as GitHub makes them. */
  const fragmentsOf = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  for (const document of DOCUMENTS) {
    it(`leads somewhere: ${document}`, () => {
      const text = readFileSync(join(ROOT, document), 'utf8').replaceAll(/^```.*?^```$/gms, '');
      for (const [, target = ''] of text.matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)) {
        const [file = '', fragment] = target.split('#');
        const path = file === '' ? join(ROOT, document) : join(ROOT, dirname(document), file);
        assert.ok(existsSync(path), `${target} is a file`);
        if (fragment !== undefined) assert.ok(fragmentsOf(path).includes(fragment), `${target} is a heading`);
      }
    });
  }

  it('is meant by every name of a document elsewhere', () => {
    for (const file of NAMING) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      for (const [name] of text.matchAll(/\bdocs\/[\w-]+\.md\b/g))
        assert.ok(existsSync(join(ROOT, name)), `${file}: ${name}`);
    }
  });

  it('and the names of source files are of files that there are', () => {
    const files = globSync('{src,test,benchmarks,examples,.github,docs}/**/*.ts*', {
      cwd: ROOT,
    }).map((file) => `/${file}`);
    for (const document of ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...DECISIONS]) {
      const text = readFileSync(join(ROOT, document), 'utf8').replaceAll(/^ *```.*?^ *```$/gms, '');
      for (const [, name] of text.matchAll(/`([\w./-]+\.tsx?)`/g)) {
        const isThere = files.some((file) => file.endsWith(`/${name}`)) || existsSync(join(ROOT, name!));
        assert.ok(isThere, `${document}: ${name}`);
      }
    }
  });

  it('leads from the README to every document', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    for (const document of FOR_READERS) assert.ok(readme.includes(`(${document})`), document);
  });

  it('leads from ARCHITECTURE.md to every file of decisions', () => {
    const architecture = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    for (const file of DECISIONS) assert.ok(architecture.includes(`(${file})`), file);
  });
});

describe('the documentation of the options', () => {
  const options = documentedOptions();

  it('is of every option that the schema accepts, and of no other', () => {
    const inTypes = flat(options).map(({ path }) => path.replaceAll('[]', ''));
    const inSchema = schemaOptions().map(({ path }) => path.filter((name) => name !== '[]').join('.'));
    assert.deepEqual(inTypes.sort(), [...new Set(inSchema)].sort());
  });

  it('stands in docs/options.md as the types have it', () => {
    const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'options.md'), 'utf8');
    assert.equal(text, optionsDocument(options), 'run `npm run document`');
  });
});

test('docs/performance.md has the figures of the published run, and of no other', () => {
  const page = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8');
  const run = publishedRun();
  assert.match(run.commit, /^[0-9a-f]{40}$/, 'of sources without changes');
  assert.equal(page, withFigures(page, run), 'run `npm run document`');
  assert.match(page, new RegExp(`^Commit ${run.commit.slice(0, 8)} `, 'm'));
});

test('npx is said of our package, and of `rdcp` only in words about a folder that has it', () => {
  const files = globSync(
    ['*.md', '.github/**/*.{md,yml}', 'docs/**/*.{md,ts}', '{src,examples}/**/*.{md,ts,tsx}', 'test/conformance/*.md'],
    { cwd: ROOT },
  ).filter((file) => file !== 'CHANGELOG.md');
  const hasIt = /\b(?:a|the|this|same) (?:project|folder|directory|clone)\b/i;
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    // Sections of a document, lines of source; a guide of an example is one text.
    const parts = file.endsWith('.md') ? text.split(/^#+ /m) : file.startsWith('examples/') ? [text] : text.split('\n');
    for (const part of parts) {
      for (const [said, name = ''] of part.matchAll(/\b(?:npx|bunx|dlx) (?:-\S+ )*([a-z@][\w@/.-]*)/g)) {
        const isLocal = ['rdcp', 'rdcp-conformance'].includes(name) && hasIt.test(part);
        const isOurs = name === 'opentelemetry-instrumentation-rdcp' || !name.includes('rdcp');
        assert.ok(isLocal || isOurs, `${file}: ${said}`);
      }
    }
  }
});

test('CONTRIBUTING.md names the programs that .ci/install installs', () => {
  const programs = [...readFileSync(join(ROOT, '.ci/install'), 'utf8').matchAll(/^command -v ([\w-]+)/gm)];
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  assert.ok(programs.length >= 4);
  for (const [, program] of programs) assert.ok(text.includes(`\`${program}\``), program);
});
