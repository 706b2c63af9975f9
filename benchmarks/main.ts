// Runs every benchmark against dist/, each in processes of its own: what V8 learnt from one would colour the next, and
// how it compiles the same code differs a little from process to process. Prints the figures and the table of targets, and writes both to results/. A missed target is printed as MISSED;
// it is no failure of the run, because machines differ. With `--compare FILE`, one of results/, it marks what became
// slower than in that run.

import { execFileSync, fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compareRuns, formatDifference, type Run } from './comparison.ts';
import { combine, formatReport, formatVerdict, type Report } from './measurement.ts';

const PROCESSES = 3;
const SUBJECTS = [
  ...['gate-off', 'gate-scale', 'gate-tenant', 'count', 'tenant-memory'],
  ...[
    'emit',
    'budget',
    'koa-service',
    'status',
    'control',
    'scrape',
    'import',
    'start-up',
    'fleet',
    'fleet-size',
    'fleet-tail',
    'tail',
    'flood',
  ],
  ...['adopt', 'adopt-start-up', 'console', 'tickets', 'matching', 'activations', 'recorded', 'recorded-memory'],
];

function run(subject: string): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, `${subject}.ts`), { execArgv: ['--expose-gc'] });
    let report: Report | undefined;
    child.on('message', (message) => {
      report = message as Report;
    });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (report === undefined) reject(new Error(`${subject} ended with ${code} and no report`));
      else resolve(report);
    });
  });
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  try {
    return git('rev-parse', 'HEAD') + (git('status', '--porcelain', '--', '../src') === '' ? '' : ' with changes');
  } catch {
    return 'unknown';
  }
}

const { values, positionals } = parseArgs({ options: { compare: { type: 'string' } }, allowPositionals: true });
const chosen =
  positionals.length === 0
    ? SUBJECTS
    : positionals.flatMap((name) => {
        // `fleet` is `fleet-size` too.
        const found = SUBJECTS.filter((subject) => subject === name || subject.startsWith(`${name}-`));
        if (found.length === 0) throw new Error(`there is no benchmark ${name}: ${SUBJECTS.join(', ')}`);
        return found;
      });
// Read first: a wrong path should not be found out after an hour.
const before = values.compare === undefined ? undefined : (JSON.parse(readFileSync(values.compare, 'utf8')) as Run);
const date = new Date().toISOString();
const environment = {
  date,
  node: process.version,
  v8: process.versions.v8,
  processor: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  commit: commit(),
};
for (const [name, value] of Object.entries(environment)) console.log(`${name.padEnd(12)}${value}`);

const reports: Record<string, Report> = {};
for (const subject of chosen) {
  const runs: Report[] = [];
  while (runs.length < PROCESSES) runs.push(await run(subject));
  const report = combine(runs);
  reports[subject] = report;
  console.log(`\n${subject}`);
  if (report.timings.length > 0) console.log(formatReport({ ...report, verdicts: [] }));
}

console.log('\ntargets');
for (const { verdicts } of Object.values(reports)) for (const verdict of verdicts) console.log(formatVerdict(verdict));

const results = join(import.meta.dirname, 'results');
mkdirSync(results, { recursive: true });
const file = join(results, `${date.slice(0, 19).replaceAll(':', '-')}Z.json`);
const withoutRounds = (key: string, value: unknown) => (key === 'rounds' ? undefined : value);
writeFileSync(file, `${JSON.stringify({ ...environment, reports }, withoutRounds, 2)}\n`);

if (before !== undefined) {
  console.log(`\nbeside ${before.date}, commit ${before.commit}`);
  for (const name of ['node', 'processor', 'cores'] as const) {
    if (before[name] !== environment[name])
      console.log(`  another ${name}, ${before[name]}: only ratios can be compared`);
  }
  for (const difference of compareRuns(before.reports, reports)) console.log(formatDifference(difference));
}
