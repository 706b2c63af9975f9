import { once } from 'node:events';
import type { Member } from '../tail/fleet.ts';

/** The names of the categories that a process lists. */
export async function names({ client }: Member): Promise<string[]> {
  return (await client.discovery()).categories.map(({ name }) => name);
}

/** What its gate says; a category that it does not have is registered. */
export async function isOn({ child }: Member, name: string): Promise<boolean> {
  child.send(name);
  const [{ enabled }] = (await once(child, 'message')) as [{ enabled: boolean }];
  return enabled;
}
