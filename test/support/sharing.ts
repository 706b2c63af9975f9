import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './built.ts';

const OWN_PROCESS = /^\/\/ In a process of its own: /;
const STARTS_PROGRAMS = /\bfrom 'node:(?:child_process|cluster|worker_threads)'/;

const known = new Map<string, boolean>();
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** The files of the project that a file imports by a path. */
export function importedBy(file: string): string[] {
  const paths = [...textOf(file).matchAll(/\b(?:from |import ?\(?)'(\.[^']+)'/g)].map(([, path = '']) => path);
  // Programs in strings import files that are not there.
  return paths.map((path) => normalize(join(dirname(file), path))).filter((path) => existsSync(join(ROOT, path)));
}

/** Whether a file of the tests starts programs or threads, itself or by what it imports from the tests. */
export function startsPrograms(file: string): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const starts =
    STARTS_PROGRAMS.test(textOf(file)) ||
    importedBy(file).some((path) => path.startsWith('test/') && startsPrograms(path));
  known.set(file, starts);
  return starts;
}

/** Test files that run in one process, `most` of a folder at a time, and those that have one of their own. */
export function groupsOf(files: readonly string[], most: number): (readonly string[])[] {
  const shares = (file: string) => !OWN_PROCESS.test(textOf(file)) && !startsPrograms(file);
  const shared = [...Map.groupBy(files.filter(shares), dirname).values()].flatMap((members) => {
    const count = Math.ceil(members.length / most);
    return Array.from({ length: count }, (_, at) => members.filter((_member, index) => index % count === at));
  });
  return [...shared, ...files.filter((file) => !shares(file)).map((file) => [file])];
}

/** The source of a program that runs test files in its process. */
export const importing = (files: readonly string[]) =>
  files.map((file) => `import '${pathToFileURL(join(ROOT, file))}';\n`).join('');
