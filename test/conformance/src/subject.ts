import { expectOk, valueAt } from './body.ts';
import { expect, isObject, skip } from './expectation.ts';
import { type Credential, evidence, PATHS, type Session } from './session.ts';

/** Read without a credential, as a client would that does not know yet which to use; with one where that is refused. */
export const wellKnown = evidence(async (session) => {
  const open = await session.get(PATHS.wellKnown, { as: 'nobody' });
  return open.status === 200 ? open : session.get(PATHS.wellKnown);
});
export const discovery = evidence((session) => session.get(PATHS.discovery));
export const status = evidence((session) => session.get(PATHS.status));
export const health = evidence((session) => session.get(PATHS.health));

export interface CategoryState {
  readonly name: string;
  readonly enabled: boolean;
  readonly temporary: boolean;
}

/** The categories as discovery shows them now. */
export async function readCategories(session: Session, as?: Credential): Promise<readonly CategoryState[]> {
  const body = expectOk(await session.get(PATHS.discovery, as === undefined ? {} : { as }));
  expect(Array.isArray(body.categories), 'discovery to list categories', body.categories);
  return body.categories.filter(isObject).map(({ name, enabled, temporary }) => ({
    name: String(name),
    enabled: enabled === true,
    temporary: temporary === true,
  }));
}

/** One category as discovery shows it now. */
export async function readCategory(session: Session, name: string, as?: Credential): Promise<CategoryState> {
  const found = (await readCategories(session, as)).find((category) => category.name === name);
  expect(found !== undefined, `discovery to list ${name}`, 'no such category');
  return found;
}

/** The action that would show: unlike two toggles, two of these do not cancel out. */
export function opposite({ enabled }: CategoryState): 'enable' | 'disable' {
  return enabled ? 'disable' : 'enable';
}

/** Every category's state as the status endpoint shows it now. */
export async function readStates(session: Session): Promise<Readonly<Record<string, unknown>>> {
  const { categories } = expectOk(await session.get(PATHS.status));
  expect(isObject(categories), 'status to show categories', categories);
  return categories;
}

const remembered = new WeakMap<Session, Map<Credential | 'main', CategoryState>>();

function memoryOf(session: Session): Map<Credential | 'main', CategoryState> {
  const memory = remembered.get(session) ?? new Map<Credential | 'main', CategoryState>();
  remembered.set(session, memory);
  return memory;
}

/**
 * The category that the suite switches, with its state remembered for {@link restore}. A running temporary control
 * could not be put back as it was, so such a category is not picked.
 */
export const subject = evidence(async (session) => {
  const categories = await readCategories(session);
  const permanent = categories.filter(({ temporary }) => !temporary);
  const chosen =
    session.category === undefined
      ? (permanent.find(({ enabled }) => !enabled) ?? permanent[0])
      : categories.find(({ name }) => name === session.category);
  if (chosen === undefined) return skip('discovery lists no category that could be switched and put back');
  memoryOf(session).set('main', chosen);
  return chosen;
});

/** The same category as another credential sees it, for restoring. */
export async function rememberFor(session: Session, as: Credential, name: string): Promise<CategoryState> {
  const state = await readCategory(session, name, as);
  if (!memoryOf(session).has(as)) memoryOf(session).set(as, state);
  return state;
}

/** Puts back what was switched. Returns what could not be put back, in words. */
export async function restore(session: Session): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [who, before] of memoryOf(session)) {
    const as = who === 'main' ? {} : { as: who };
    try {
      await session.control({ action: 'reset', categories: [before.name] }, as);
      const after = await readCategory(session, before.name, as.as);
      if (after.enabled === before.enabled && after.temporary === before.temporary) continue;
      await session.control({ action: before.enabled ? 'enable' : 'disable', categories: [before.name] }, as);
      const now = await readCategory(session, before.name, as.as);
      if (now.enabled !== before.enabled) problems.push(`${before.name} was ${stateWord(before)} before the run`);
    } catch (error) {
      problems.push(`${before.name} was ${stateWord(before)} before the run: ${session.redact(String(error))}`);
    }
  }
  memoryOf(session).clear();
  return problems;
}

function stateWord({ enabled }: CategoryState): string {
  return enabled ? 'enabled' : 'disabled';
}

export async function capability(session: Session, name: string): Promise<boolean> {
  return valueAt((await wellKnown(session)).body, `capabilities.${name}`) === true;
}

/** Skips the check unless the server advertises the capability. */
export async function needCapability(session: Session, name: string): Promise<void> {
  if (!(await capability(session, name))) skip(`the server does not advertise ${name}`);
}

export async function needAuthentication(session: Session): Promise<void> {
  if (valueAt((await wellKnown(session)).body, 'security.required') !== true) {
    skip('the server says that it requires no authentication');
  }
}

/** The credential, or a skipped check. */
export function need(credential: Credential | undefined, flag: string): Credential {
  return credential ?? skip(`no credential was given (${flag})`);
}
