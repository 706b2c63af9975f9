import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { notesOf, withAbsoluteLinks, withRelease } from '../../.github/release.ts';
import { ROOT } from '../support/built.ts';

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- The first.\n';

describe('the changelog', () => {
  it('keeps its entries, under the version', () => {
    const released = withRelease(CHANGELOG, '0.2.0', '2026-02-03');
    assert.equal(notesOf(released, '0.2.0'), '### Added\n\n- A thing.');
    assert.equal(notesOf(released, '0.1.0'), '- The first.');
    assert.throws(() => notesOf(released, '0.3.0'), /no section 0\.3\.0/);
  });

  it('of this package can be released as it stands', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    assert.match(notesOf(withRelease(changelog, '9.9.9', '2026-02-03'), '9.9.9'), /^### Added\n/);
  });
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
