import type { AdoptedModule } from './types.ts';

/** Whether a version is in a range such as `>=2.6.9 <5`: comparisons that must all hold. A pre-release counts as its release. */
export function satisfies(version: string, range: string): boolean {
  return range.split(' ').every((comparison) => {
    const [, operator, bound = ''] = /^(>=|<)(.+)$/.exec(comparison) ?? [];
    const difference = compareVersions(version, bound);
    return operator === '>=' ? difference >= 0 : operator === '<' && difference < 0;
  });
}

/** Whether a version of a package is in the range of any of the modules: its files may differ between versions. */
export const isSupported = (modules: readonly AdoptedModule[], name: string, version: string): boolean =>
  modules.some((module) => module.name === name && satisfies(version, module.versions));

/** Negative if the first version is the lower one. Missing parts are 0. */
function compareVersions(one: string, other: string): number {
  const [first, second] = [partsOf(one), partsOf(other)];
  for (const at of [0, 1, 2]) {
    const difference = (first[at] ?? 0) - (second[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Not a number where a part is none: then no comparison holds. */
const partsOf = (version: string) => (version.split(/[-+]/)[0] ?? '').split('.').map(Number);
