import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../support/built.ts';

const SITE = join(ROOT, 'docs/site/built');

describe('npm run docs', () => {
  let pages: readonly string[] = [];
  before(async () => {
    const { stdout, stderr } = await promisify(execFile)('npm', ['run', 'docs'], { cwd: ROOT, timeout: 500_000 });
    assert.doesNotMatch(stdout + stderr, /\[warning\]/);
    pages = globSync('**/*.html', { cwd: SITE });
  });

  it('makes a page of every document and every public symbol', () => {
    const headings = globSync('docs/*.md', { cwd: ROOT }).map(
      (path) => /^# (.+)$/m.exec(readFileSync(join(ROOT, path), 'utf8'))?.[1] ?? assert.fail(path),
    );
    for (const heading of headings) {
      assert.ok(pages.includes(`documents/${heading.replaceAll(' ', '_')}.html`), heading);
    }
    for (const page of ['interfaces/index.RdcpConfig.html', 'functions/api.category.html', 'index.html']) {
      assert.ok(pages.includes(page), page);
    }
  });

  it('leads nowhere but to pages that are there', () => {
    for (const page of pages) {
      const html = readFileSync(join(SITE, page), 'utf8');
      for (const [, target = ''] of html.matchAll(/(?:href|src)="((?![a-z]+:|#)[^"#]+)/g)) {
        assert.ok(existsSync(join(SITE, dirname(page), decodeURIComponent(target))), `${page}: ${target}`);
      }
    }
  });

  it('searches without a server', () => {
    assert.match(readFileSync(join(SITE, 'assets/search.js'), 'utf8'), /^window\.searchData = "/);
    assert.doesNotMatch(readFileSync(join(SITE, 'index.html'), 'utf8'), /<script[^>]+src="https?:/);
  });
});
