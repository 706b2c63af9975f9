// `npm run document` writes the figures of docs/performance.md from benchmarks/published.json: a file of benchmarks/results/, one
// run of one commit on a quiet machine.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../benchmarks/comparison.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGE = join(ROOT, 'docs/performance.md');
const FIGURES = /(?<=<!-- figures -->\n).*(?=<!-- end of figures -->)/s;

export function publishedRun(): Run {
  return JSON.parse(readFileSync(join(ROOT, 'benchmarks/published.json'), 'utf8')) as Run;
}

/** The page with the figures of a run. */
export function withFigures(page: string, { date, node, processor, cores, commit, reports }: Run): string {
  const rows = Object.values(reports).flatMap(({ verdicts }) =>
    verdicts.map(({ what, target, measured, met, spread }) => {
      const [middle] = measured.split(' (');
      return `| ${met ? what : `**${what}**`} | ${sentence(target)} | ${middle} | ${spread?.map(rounded).join(' to ') ?? '-'} |`;
    }),
  );
  const figures = `Commit ${commit.slice(0, 8)} on ${date.slice(0, 10)}, Node ${node.slice(1)}, ${processor}, ${cores} cores. **Bold** rows miss their target.

| what | target | measured | of three processes |
|---|---|---|---|
${rows.join('\n')}
`;
  return page.replace(FIGURES, () => figures);
}

function sentence(target: string): string {
  return target.replace('<=', 'at most').replace('>=', 'at least');
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

if (import.meta.main) writeFileSync(PAGE, withFigures(readFileSync(PAGE, 'utf8'), publishedRun()));
