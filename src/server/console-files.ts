import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { INSTRUMENTATION_NAME } from '../version.ts';

/** The files of the console with their media types. The page is the file that its folder answers. */
export const CONSOLE_FILES = {
  'index.html': 'text/html; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

export type ConsoleFileName = keyof typeof CONSOLE_FILES;

export interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  /** SHA-256 of the content. */
  readonly hash: string;
}

/** Reads a file of the console once. Rejects if it is not there, as where an application bundles this package. */
export type ReadConsoleFile = (name: ConsoleFileName) => Promise<ConsoleFile>;

export function createConsoleFiles(): ReadConsoleFile {
  const files = new Map<ConsoleFileName, Promise<ConsoleFile>>();

  async function read(name: ConsoleFileName): Promise<ConsoleFile> {
    const plain = await readFile(join(packageFolder(), 'dist/console', name));
    const hash = createHash('sha256').update(plain).digest('base64url');
    return { type: CONSOLE_FILES[name], plain, gzipped: await promisify(gzip)(plain, { level: 9 }), hash };
  }

  return (name) => {
    const file = files.get(name) ?? read(name);
    files.set(name, file);
    file.catch(() => files.delete(name));
    return file;
  };
}

/** The folder of this package, whichever of its files this code is in. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isOurs(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('the files of the console are not beside this code');
    folder = parent;
  }
  return folder;
}

function isOurs(manifest: string): boolean {
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === INSTRUMENTATION_NAME;
}
