import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { finish } from '../package/consumer.ts';
import { ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';

const RELEASE = join(ROOT, '.github/release.ts');
const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- The first.\n';

const TOOL = '{ "name": "rdcp-conformance", "version": "0.1.0" }';

/** A repository with what a release changes, at 0.1.0. */
function repository(t: TestContext) {
  const cwd = newFolder(t);
  const git = (...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
  const files = {
    'package.json': '{ "name": "released", "version": "0.1.0", "workspaces": ["test/conformance"] }\n',
    'test/conformance/package.json': TOOL,
    'package-lock.json': `{ "version": "0.1.0", "lockfileVersion": 3, "packages": { "": {}, "test/conformance": ${TOOL} } }\n`,
    'CHANGELOG.md': CHANGELOG,
    'src/wire/version.ts': "export const VERSION = '0.1.0';\n",
    '.github/opentelemetry-registry.yml': 'package:\n  name: released\n  version: 0.1.0\nisNative: false\n',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'test');
  git('config', 'user.email', 'test@example.test');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'feat: begin');
  git('tag', '--annotate', 'v0.1.0', '--message', 'v0.1.0');
  return {
    git,
    read: (path: string) => readFileSync(join(cwd, path), 'utf8'),
    write: (path: string, text: string) => writeFileSync(join(cwd, path), text),
    commit: (message: string) => git('commit', '--quiet', '--allow-empty', '--message', message),
    release: (...args: string[]) => finish(process.execPath, [RELEASE, ...args], cwd),
  };
}

describe('npm run release', { concurrency: 2 }, () => {
  it('takes the version from the commits, writes it everywhere, commits and tags', async (t) => {
    const { git, read, commit, release } = repository(t);
    commit('fix(store): keep the last write');
    commit('feat(cli)!: rename an option');
    assert.deepEqual(await release(), {
      code: 0,
      stdout: 'v0.2.0 is committed and tagged here. To publish it: git push --follow-tags\n',
      stderr: '',
    });
    assert.equal(JSON.parse(read('package.json')).version, '0.2.0');
    assert.equal(JSON.parse(read('test/conformance/package.json')).version, '0.2.0');
    assert.equal(JSON.parse(read('package-lock.json')).packages['test/conformance'].version, '0.2.0');
    assert.match(read('src/wire/version.ts'), /VERSION = '0\.2\.0'/);
    assert.match(read('.github/opentelemetry-registry.yml'), /^ {2}version: 0\.2\.0$/m);
    assert.match(read('CHANGELOG.md'), /^## Unreleased\n\n## 0\.2\.0 - \d{4}-\d\d-\d\d\n\n### Added\n\n- A thing\.\n/m);
    assert.equal(git('describe', '--exact-match'), 'v0.2.0');
    assert.equal(git('log', '-1', '--format=%s'), 'chore(release): 0.2.0');
    assert.equal(git('status', '--porcelain'), '');

    const { code, stdout } = await release('notes', 'v0.2.0');
    assert.equal(code, 0);
    assert.match(stdout, /^### Added\n\n- A thing\.\n\n## Commits\n\n/);
    assert.match(stdout, /### New\n\n- \*\*cli\*\*: rename an option \(breaking\)\n/i);
    assert.match(stdout, /### Fixed\n\n- \*\*store\*\*: keep the last write\n/i);
    assert.doesNotMatch(stdout, /begin|The first/);
  });

  it('makes a patch of fixes', async (t) => {
    const { commit, release, git } = repository(t);
    commit('fix: one');
    commit('docs: two');
    assert.equal((await release()).code, 0);
    assert.equal(git('describe', '--exact-match'), 'v0.1.1');
  });

  it('changes nothing while there are uncommitted changes, or the changelog has no entry', async (t) => {
    const { git, commit, write, release } = repository(t);
    commit('fix: one');
    const before = git('rev-parse', 'HEAD');
    write('CHANGELOG.md', CHANGELOG.replace('### Added\n\n- A thing.\n\n', ''));
    assert.deepEqual(await release(), { code: 1, stdout: '', stderr: 'release: there are uncommitted changes\n' });
    git('commit', '--quiet', '--all', '--message', 'docs: empty');
    const { code, stderr } = await release();
    assert.equal(code, 1);
    assert.match(stderr, /^release: CHANGELOG\.md has nothing under "Unreleased"/);
    assert.equal(git('rev-parse', 'HEAD~1'), before);
    assert.equal(git('status', '--porcelain'), '');
  });

  it('has no notes for a tag that the files do not name', async (t) => {
    const { release } = repository(t);
    const { code, stderr } = await release('notes', 'v9.0.0');
    assert.deepEqual(
      { code, stderr },
      { code: 1, stderr: 'release: the tag v9.0.0 is not the version of package.json, 0.1.0\n' },
    );
  });
});
