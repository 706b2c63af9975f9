import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { notesOf, withRelease } from '../../.github/release.ts';
import { ROOT } from '../support/built.ts';

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- The first.\n';

describe('the changelog', () => {
  it('keeps what users were told, under the version', () => {
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
