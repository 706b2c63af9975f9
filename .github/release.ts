// Makes a release. `npm run release` takes the next version from the commits, writes it where it belongs, commits and tags;
// `npm run release -- notes v0.2.0` prints the notes of a tag, and fails where the tag is not what the files say;
// `npm run release -- links URL v0.2.0` makes the links of README.md lead to a repository, because the package has no other document.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CLIFF = fileURLToPath(import.meta.resolve('git-cliff/cli'));
const CONFIGURATION = join(import.meta.dirname, 'cliff.toml');

const run = (file: string, ...args: string[]) => execFileSync(file, args, { encoding: 'utf8', stdio: 'pipe' }).trim();
const cliff = (...args: string[]) => run(process.execPath, CLIFF, '--config', CONFIGURATION, ...args);
const read = (path: string) => readFileSync(path, 'utf8');

/** The changelog with what was unreleased as a version of its own. */
export function withRelease(changelog: string, version: string, date: string): string {
  const [, unreleased = ''] = /^## Unreleased\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(changelog) ?? [];
  if (unreleased.trim() === '')
    throw new Error('CHANGELOG.md has nothing under "Unreleased": say there what users notice');
  return changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${version} - ${date}\n`);
}

/** What the changelog says of a version, without its heading. */
export function notesOf(changelog: string, version: string): string {
  const heading = `## ${version} - `;
  const [section] = changelog.split(/^(?=## )/m).filter((each) => each.startsWith(heading));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${version}`);
  return section.slice(section.indexOf('\n')).trim();
}

/** A document whose relative links lead to a tag of a repository on GitHub: pages, and pictures as they are. */
export function withAbsoluteLinks(markdown: string, repository: string, tag: string): string {
  const absolute = (kind: 'blob' | 'raw', path: string) => `${repository}/${kind}/${tag}/${path}`;
  return markdown
    .replace(/(?<=!\[[^\]]*\]\(|<img [^>]*src="|srcset=")(?![a-z]+:)[^)"\s]+/g, (path) => absolute('raw', path))
    .replace(/(?<=\]\()(?![a-z]+:|#)[^)\s]+/g, (path) => absolute('blob', path));
}

function release(): void {
  if (run('git', 'status', '--porcelain') !== '') throw new Error('there are uncommitted changes');
  const tag = cliff('--bumped-version');
  const version = tag.slice(1);
  const changelog = withRelease(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10));
  run('npm', 'version', '--no-git-tag-version', '--allow-same-version', '--ignore-scripts', version);
  const replaced = (path: string, old: RegExp) => {
    const text = read(path);
    if (!old.test(text)) throw new Error(`${path} names no version`);
    writeFileSync(path, text.replace(old, version));
  };
  replaced('test/conformance/package.json', /(?<="version": ")[^"]+/);
  replaced('package-lock.json', /(?<="name": ?"rdcp-conformance",\s*"version": ?")[^"]+/);
  replaced('src/wire/version.ts', /(?<=VERSION = ')[^']+/);
  replaced('.github/opentelemetry-registry.yml', /(?<=^ {2}version: ).*$/m);
  writeFileSync('CHANGELOG.md', changelog);
  run('git', 'commit', '--all', '--message', `chore(release): ${version}`);
  run('git', 'tag', '--annotate', tag, '--message', tag);
  console.log(`${tag} is committed and tagged here. To publish it: git push --follow-tags`);
}

function notes(tag: string): void {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  if (tag !== `v${version}`) throw new Error(`the tag ${tag} is not the version of package.json, ${version}`);
  if (!read('src/wire/version.ts').includes(`'${version}'`)) throw new Error(`src/wire/version.ts is not ${version}`);
  const commits = cliff('--latest', '--strip', 'all');
  console.log(`${notesOf(read('CHANGELOG.md'), version)}\n\n## Commits\n\n${commits}`);
}

if (import.meta.main) {
  const [command, first = '', second = ''] = process.argv.slice(2);
  try {
    if (command === undefined) release();
    else if (command === 'notes') notes(first);
    else if (command === 'links') writeFileSync('README.md', withAbsoluteLinks(read('README.md'), first, second));
    else throw new Error('usage: npm run release [-- notes TAG | links URL TAG]');
  } catch (error) {
    console.error(`release: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
