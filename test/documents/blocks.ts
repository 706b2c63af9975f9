import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/built.ts';

/** A block of code in a document. */
export interface Block {
  readonly document: string;
  /** Where it begins, to name it: `docs/tail.md:8`. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
}

/** The documents for users. CONTRIBUTING.md has a test of its own, which puts its files where they belong. */
const DOCUMENTS = ['README.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: ROOT }).sort()];

export const BLOCKS: readonly Block[] = DOCUMENTS.flatMap((document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return [...text.matchAll(/^( *)```(\S*)\n(.*?)^ *```$/gms)].map(
    ({ 1: indent = '', 2: language = '', 3: code = '', index }) => ({
      document,
      place: `${document}:${text.slice(0, index).split('\n').length}`,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
});

export const blocksOf = (...languages: string[]) => BLOCKS.filter(({ language }) => languages.includes(language));
