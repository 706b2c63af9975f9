import type { ConditionName, Conditions } from '../../src/otel/report/conditions.ts';

/** Every beginning of a condition as its problem, every end as `<name> is over`, without throttling. */
export function recordConditions(): Pick<Conditions, 'watch'> & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    watch(name: ConditionName) {
      let current: string | undefined;
      return {
        begin(problem) {
          if (problem !== current) lines.push(problem);
          current = problem;
        },
        end() {
          if (current !== undefined) lines.push(`${name} is over`);
          current = undefined;
        },
      };
    },
  };
}
