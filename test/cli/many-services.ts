import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Profile } from '../../src/tools/cli/profiles.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, startServer, type TestServerOptions } from '../support/server.ts';
import { type RunOptions, rdcp, saying } from './run.ts';

/** The command with profiles, groups and services of a platform. */
export function commandWith(
  t: TestContext,
  profiles: Readonly<Record<string, Profile>>,
  { groups, listed }: { readonly groups?: object; readonly listed?: object } = {},
) {
  const config = newFolder(t);
  mkdirSync(join(config, 'rdcp'));
  const write = (name: string, content: object | string) =>
    writeFileSync(join(config, 'rdcp', name), typeof content === 'string' ? content : JSON.stringify(content), {
      mode: 0o600,
    });
  write('profiles.json', { profiles, ...(groups !== undefined && { groups }) });
  if (listed !== undefined) write('services.json', { services: listed });
  const run = (args: readonly string[], options: RunOptions = {}) =>
    rdcp(args, { cwd: config, ...options, env: { XDG_CONFIG_HOME: config, ...options.env } });
  return { config, run, write, says: saying(run) };
}

export const NOWHERE = { url: 'http://127.0.0.1:1', apiKey: KEYS.admin };

/** Real endpoints, each with a profile of its name. */
export async function startServices<Name extends string>(
  t: TestContext,
  names: readonly Name[],
  options: TestServerOptions = {},
) {
  const started = await Promise.all(
    names.map(async (name) => [name, await startServer(t, { ...options, instanceId: name })] as const),
  );
  const servers = Object.fromEntries(started) as Record<Name, Awaited<ReturnType<typeof startServer>>>;
  const profiles = Object.fromEntries(started.map(([name, { url }]) => [name, { url, apiKey: KEYS.admin }])) as Record<
    Name,
    Profile
  >;
  return { servers, profiles };
}
