import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { knownAdvisories } from '../../.github/advisories.ts';
import { notesOf, withAbsoluteLinks, withRelease } from '../../.github/release.ts';
import { ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';

it('the changelog of this package can be released as it stands', () => {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  assert.match(notesOf(withRelease(changelog, '9.9.9', '2026-02-03'), '9.9.9'), /^### Added\n/);
});

describe('the README of a published package', () => {
  const REPOSITORY = 'https://github.com/owner/repository';

  it('leads to its documents and pictures in the repository, at the tag', () => {
    const readme = [
      '![a demo](docs/demo.svg) [a page](docs/page.md#part), [![badge](docs/badge.svg)](LICENSE)',
      '<img alt="console" src="docs/console.png"> [here](#below) [there](https://example.test/docs/x.md)',
    ].join('\n');
    assert.deepEqual(withAbsoluteLinks(readme, REPOSITORY, 'v1.2.3').split('\n'), [
      `![a demo](${REPOSITORY}/raw/v1.2.3/docs/demo.svg) [a page](${REPOSITORY}/blob/v1.2.3/docs/page.md#part), ` +
        `[![badge](${REPOSITORY}/raw/v1.2.3/docs/badge.svg)](${REPOSITORY}/blob/v1.2.3/LICENSE)`,
      `<img alt="console" src="${REPOSITORY}/raw/v1.2.3/docs/console.png"> [here](#below) [there](https://example.test/docs/x.md)`,
    ]);
  });

  it('has no relative link left', () => {
    const published = withAbsoluteLinks(readFileSync(join(ROOT, 'README.md'), 'utf8'), REPOSITORY, 'v1.2.3');
    const links = [...published.matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(
      ([, link, picture]) => link ?? picture ?? '',
    );
    assert.ok(links.length > 10);
    for (const link of links) assert.match(link, /^(?:https:|#)/);
  });
});

const ZOD = [{ name: 'zod', version: '4.0.0' }];

/** A command that answers `npm audit` with this text and status. */
function npm(t: TestContext, { stdout = '', stderr = '', status = 1 }): string {
  const folder = newFolder(t);
  const command = join(folder, 'npm');
  const lines = [`#!${process.execPath}`];
  for (const [stream, text] of Object.entries({ stdout, stderr })) {
    lines.push(`process.${stream}.write(${JSON.stringify(text)});`);
  }
  writeFileSync(command, `${lines.join('\n')}\nprocess.exitCode = ${status};\n`, { mode: 0o755 });
  return command;
}

describe('advisories of bundled packages', () => {
  it('are named with their severity', (t) => {
    const stdout = JSON.stringify({ vulnerabilities: { zod: { severity: 'high', range: '<4.0.1' } } });
    assert.deepEqual(knownAdvisories(ZOD, npm(t, { stdout })), ['zod 4.0.0 has a known advisory (high, <4.0.1)']);
  });

  it('are none where the registry says so', (t) => {
    assert.deepEqual(knownAdvisories(ZOD, npm(t, { stdout: '{"vulnerabilities":{}}', status: 0 })), []);
  });

  const refusal = 'POST https://user:hunter2@registry.example/-/npm/v1/security/audits/quick - Method Not Allowed';
  for (const [name, answer] of [
    ['answers no audits', { stdout: JSON.stringify({ statusCode: 405, message: `405 ${refusal}`, body: {} }) }],
    ['answers no audits, on stderr', { stderr: `npm error 405 ${refusal}` }],
    ['answers no audits, but npm ends with 0', { stdout: JSON.stringify({ message: `405 ${refusal}` }), status: 0 }],
    ['answers with something else than JSON', { stdout: '<html>405 Method Not Allowed</html>', status: 0 }],
    ['answers nothing', { status: 0 }],
    ['answers null', { stdout: 'null', status: 0 }],
  ] as const) {
    it(`are not known where the registry ${name}: the check fails and says so, without its address`, (t) => {
      assert.throws(
        () => knownAdvisories(ZOD, npm(t, answer)),
        ({ message }: Error) => {
          assert.match(message, /^not known, because npm audit gives no report: ./);
          assert.doesNotMatch(message, /hunter2|registry\.example/);
          return true;
        },
      );
    });
  }

  it('are not known without npm', () => {
    assert.throws(() => knownAdvisories(ZOD, join(tmpdir(), 'no-such-npm')), /npm could not be started/);
  });
});
