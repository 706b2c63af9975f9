import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The package of a file: the nearest package.json above it that has a name. */
export function packageOf(file: string): { name: string; directory: string } | undefined {
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    const name = nameIn(join(directory, 'package.json'));
    if (name !== undefined) return { name, directory };
    if (directory === dirname(directory)) return undefined;
  }
}

/** Where PM2's own program runs the application, PM2 names its file in `pm_exec_path`. @param program `process.argv[1]` */
export function applicationPackage(
  program: string | undefined,
  { pm_exec_path: application }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const name = program === undefined ? undefined : nameOf(program);
  return name === 'pm2' ? application && nameOf(application) : name;
}

/** Asked with each announcement. */
const names = new Map<string, string | undefined>();

function nameOf(file: string): string | undefined {
  if (!names.has(file)) names.set(file, packageOf(realPath(file))?.name);
  return names.get(file);
}

function nameIn(manifest: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(manifest, 'utf8'));
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}
