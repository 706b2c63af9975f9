import type { Level, Result, Strength } from './check.ts';

export interface LevelSummary {
  readonly level: Level;
  readonly passed: number;
  readonly failed: number;
  /** Failures of MUST checks. */
  readonly broken: number;
  readonly skipped: number;
}

export interface Report {
  readonly url: string;
  /** The security level that the server declares, or that it could not be read. */
  readonly claimed: string;
  readonly level: Level;
  readonly results: readonly Result[];
  readonly summary: readonly LevelSummary[];
  /** Changes that the run could not put back. */
  readonly leftOver: readonly string[];
  /** No MUST check failed and something was checked. */
  readonly conformant: boolean;
}

export function summarize(results: readonly Result[]): readonly LevelSummary[] {
  return ([1, 2, 3] as const)
    .map((level) => ({ level, of: results.filter((result) => result.level === level) }))
    .filter(({ of }) => of.length > 0)
    .map(({ level, of }) => ({
      level,
      passed: of.filter(({ outcome }) => outcome === 'PASS').length,
      failed: of.filter(({ outcome }) => outcome === 'FAIL').length,
      broken: of.filter(({ outcome, strength }) => outcome === 'FAIL' && strength === 'MUST').length,
      skipped: of.filter(({ outcome }) => outcome === 'SKIP').length,
    }));
}

export function isConformant(results: readonly Result[]): boolean {
  const broken = results.some(({ outcome, strength }) => outcome === 'FAIL' && strength === 'MUST');
  return !broken && results.some(({ outcome }) => outcome === 'PASS');
}

const LEVEL_NAMES = { 1: 'Level 1, basic', 2: 'Level 2, standard', 3: 'Level 3, enterprise' } as const;

/** The report as text: a table for each level, its checks by section, and a summary. */
export function renderText(report: Report): string {
  const lines = [`RDCP 1.0 conformance of ${report.url}: level ${report.level}, declared ${report.claimed}`];
  for (const { level } of report.summary) {
    lines.push('', LEVEL_NAMES[level]);
    const of = report.results.filter((result) => result.level === level);
    const [first] = of;
    if (first?.reason !== undefined && of.every(({ reason }) => reason === first.reason)) {
      lines.push('', `  ${of.length} checks, none made: ${first.reason}`);
      continue;
    }
    for (const section of new Set(of.map((result) => result.section))) {
      lines.push('', `  ${section}`);
      for (const result of of) if (result.section === section) lines.push(...renderResult(result));
    }
  }
  lines.push('', 'Summary');
  for (const row of report.summary) lines.push(renderSummary(row));
  lines.push(...report.leftOver.map((line) => `Not put back: ${line}`));
  lines.push(
    report.conformant ? 'No MUST check failed.' : 'NOT CONFORMANT: a MUST check failed, or none could be made.',
  );
  return `${lines.join('\n')}\n`;
}

const INDENT = ' '.repeat(28);

function renderResult({ id, strength, outcome, statement, expected, got, reason }: Result): readonly string[] {
  const line = `    ${id.padEnd(11)} ${pad(strength)} ${outcome} ${statement}`;
  if (outcome === 'FAIL') return [line, `${INDENT}expected: ${expected}`, `${INDENT}got:      ${got}`];
  return outcome === 'SKIP' ? [line, `${INDENT}skipped:  ${reason}`] : [line];
}

function pad(strength: Strength): string {
  return strength.padEnd(6);
}

function renderSummary({ level, passed, failed, broken, skipped }: LevelSummary): string {
  return `  ${`level ${level}`.padEnd(16)} ${passed} passed, ${failed} failed (${broken} MUST), ${skipped} skipped`;
}
