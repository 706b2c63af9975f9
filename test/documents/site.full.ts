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

  it('leads nowhere but to pages that are there, and to places in them', () => {
    const anchors = new Map<string, ReadonlySet<string>>();
    const anchorsOf = (page: string) => {
      const found = anchors.get(page) ?? new Set(readFileSync(page, 'utf8').match(/(?<= (?:id|name)=")[^"]+/g));
      anchors.set(page, found);
      return found;
    };
    for (const page of pages) {
      const html = readFileSync(join(SITE, page), 'utf8');
      for (const [, target = ''] of html.matchAll(/(?:href|src)="((?![a-z]+:)[^"]+)/g)) {
        const [file = '', anchor = ''] = target.split('#').map(decodeURIComponent);
        const path = join(SITE, file === '' ? page : join(dirname(page), file));
        assert.ok(existsSync(path), `${page}: ${target}`);
        if (anchor !== '' && path.endsWith('.html')) assert.ok(anchorsOf(path).has(anchor), `${page}: ${target}`);
      }
    }
  });

  it('makes links of what is a link, and not of the names of files', () => {
    const targets = pages.flatMap(
      (page) => readFileSync(join(SITE, page), 'utf8').match(/(?<=href=")http:[^"]+/g) ?? [],
    );
    assert.deepEqual(targets, []);
  });

  it('gives every page a title, and the first page one heading', () => {
    for (const page of pages) assert.match(readFileSync(join(SITE, page), 'utf8'), /<title>[^<]+<\/title>/, page);
    assert.equal(readFileSync(join(SITE, 'index.html'), 'utf8').match(/<h1/g)?.length, 1);
  });

  it('searches without a server', () => {
    assert.match(readFileSync(join(SITE, 'assets/search.js'), 'utf8'), /^window\.searchData = "/);
    assert.doesNotMatch(readFileSync(join(SITE, 'index.html'), 'utf8'), /<script[^>]+src="https?:/);
  });
});
