import { spawn } from 'node:child_process';

/** Time in which the program may report that it found no browser, in milliseconds. */
const PATIENCE_MS = 1500;

export async function openInBrowser(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> {
  const [program, ...args] = openerOf(env, platform) ?? [];
  if (program === undefined) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // No shell: it would read the address as a command.
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true, shell: false, env: { ...env } });
  const timer = setTimeout(() => resolve(true), PATIENCE_MS);
  child.once('error', () => resolve(false));
  child.once('exit', (code) => resolve(code === 0));
  child.unref();
  return promise.finally(() => clearTimeout(timer));
}

function openerOf(
  { DISPLAY, WAYLAND_DISPLAY, BROWSER, WSL_DISTRO_NAME }: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): readonly string[] | undefined {
  if (platform === 'darwin') return ['open'];
  // `start` is a word of the shell.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  if (WSL_DISTRO_NAME) return ['wslview'];
  // Without a desktop xdg-open may start a browser in the terminal.
  return DISPLAY || WAYLAND_DISPLAY || BROWSER ? ['xdg-open'] : undefined;
}
