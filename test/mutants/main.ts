// Plants small faults one at a time and says which no test of the fast tier noticed. It takes its time, so no tier runs it:
//
//     npm run mutants -- --room access,control/tenancy --count 20 --seed 7
//
// A room is a folder, a file, or a line of a file of src/ (`access/principal.ts:24`). Nothing on disk changes: the fault is planted as
// the source is loaded. Programs that tests start run the build, so tests that start some take part only where they import the room
// themselves.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { generator } from '../chaos/schedule.ts';
import { ROOT } from '../support/built.ts';
import { groupsOf, importedBy, startsPrograms } from '../support/sharing.ts';
import { EQUIVALENTS, type Equivalent } from './equivalents.ts';
import { type Fault, faultsIn } from './faults.ts';
import { type Group, loadedBy, measured, reaches, run } from './groups.ts';

/** Of the faults in a room, the part that tests have to notice. */
const FLOORS: Readonly<Record<string, number>> = {
  access: 0.88,
  control: 0.88,
  trail: 0.88,
  calls: 0.78,
  endpoint: 0.78,
  gate: 0.78,
  store: 0.78,
};
/** Test files that share a process: fewer start faster, more have less to load. */
const MOST_TOGETHER = 6;
const SHOWN = 100;

const defaults = { room: Object.keys(FLOORS).join(), count: '20', seed: '1', seconds: '120' };
const options = Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value }] as const);
const values = parseArgs({ options: Object.fromEntries(options) }).values as typeof defaults;
const seconds = Number(values.seconds);
const together = availableParallelism();

type Mutant = Fault & { readonly file: string };
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const lineOf = ({ file, start }: Mutant) => textOf(file).slice(0, start).split('\n').length;

function chosen(room: string): Mutant[] {
  const random = generator(Number(values.seed));
  const [path = '', line] = room.split(':');
  const files = globSync([`src/${path}`, `src/${path}/**/*.ts`], { cwd: ROOT }).filter((file) => file.endsWith('.ts'));
  assert.ok(files.length > 0, `there is no src/${room}`);
  const all = files.sort().flatMap((file) => faultsIn(textOf(file)).map((fault) => ({ file, ...fault })));
  if (line !== undefined) return all.filter((mutant) => lineOf(mutant) === Number(line));
  const isOf = (mutant: Mutant) => {
    const line = textOf(mutant.file).split('\n')[lineOf(mutant) - 1]!.trim();
    return (each: Equivalent) => each.file === mutant.file && each.line === line && each.instead === mutant.instead;
  };
  const equivalents = EQUIVALENTS.filter(({ file }) => files.includes(file));
  const [left = [], mutants = []] = [true, false].map((is) =>
    all.filter((each) => equivalents.some(isOf(each)) === is),
  );
  assert.equal(
    left.length,
    equivalents.length,
    'a line of test/mutants/equivalents.ts is no longer there, or not once',
  );
  for (let last = mutants.length - 1; last > 0; last -= 1) {
    const other = random(0, last);
    [mutants[last], mutants[other]] = [mutants[other]!, mutants[last]!];
  }
  return mutants.slice(0, Number(values.count));
}

function shortened(code: string): string {
  const line = code.replace(/\s+/g, ' ');
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}

/** Does `work` for each, some at the same time. */
async function forEach<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const one = async () => {
    for (const each of left) await work(each);
  };
  await Promise.all(Array.from({ length: together }, one));
}

async function groupsReaching(files: ReadonlySet<string>, room: string): Promise<Group[]> {
  const house = `src/${room.split('/')[0]}/`;
  const inRoom = (file: string) => importedBy(file).some((path) => path.startsWith(house));
  const tests = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  const taking = tests.filter((file) => !startsPrograms(file) || inRoom(file));
  const groups: Group[] = [];
  await forEach(groupsOf(taking, MOST_TOGETHER), async (members) => {
    const loaded = loadedBy(members);
    if (!loaded.some((file) => files.has(file))) return;
    const group = await measured(members, loaded);
    if (group.failed === undefined) groups.push(group);
    else console.log(`left out: ${members.join(' ')} (without a fault: ${group.failed})`);
  });
  return groups;
}

for (const room of values.room.split(',')) {
  const mutants = chosen(room);
  const groups = await groupsReaching(new Set(mutants.map(({ file }) => file)), room);
  const notices = new Map<string, number>();
  let noticed = 0;
  let undecided = 0;
  await forEach(mutants, async (mutant) => {
    const { file, start, end, instead } = mutant;
    const noticesOf = ({ files }: Group) => notices.get(`${file} ${files[0]}`) ?? 0;
    // Tests of the room first, such as test/emit/ for calls/emit/, then those that import the file by the fewest steps.
    const isOfRoom = ({ files: [test = ''] }: Group) => file.split('/').includes(test.split('/')[1] ?? '');
    const distance = (group: Group) => group.loaded.indexOf(file) - (isOfRoom(group) ? group.loaded.length : 0);
    const reaching = groups
      .filter((group) => reaches(group, file, start))
      .sort((a, b) => noticesOf(b) - noticesOf(a) || distance(a) - distance(b));
    const until = performance.now() + seconds * 1000;
    let failed: string | undefined;
    let tried = 0;
    for (const group of reaching) {
      if (performance.now() > until) break;
      tried += 1;
      ({ failed } = await run(group.files, group.seconds * 3 + 15, { MUTANT: JSON.stringify(mutant) }));
      if (failed === undefined) continue;
      notices.set(`${file} ${group.files[0]}`, noticesOf(group) + 1);
      noticed += 1;
      break;
    }
    const isUndecided = failed === undefined && tried < reaching.length;
    if (isUndecided) undecided += 1;
    const verdict = isUndecided ? 'UNDECIDED' : 'NOT NOTICED';
    const by = failed ?? `${verdict} by ${tried} of ${reaching.length} groups`;
    const code = textOf(file).slice(start, end);
    console.log(`${file}:${lineOf(mutant)}\n  ${shortened(code)}  ->  ${shortened(instead)}\n  ${by}`);
  });
  const decided = mutants.length - undecided;
  const score = noticed / decided;
  const floor = FLOORS[room.split('/')[0]!] ?? 0;
  // Two standard deviations: a sample may miss what the whole room has.
  const isBelow = score + 2 * Math.sqrt((floor * (1 - floor)) / decided) < floor;
  const left = undecided === 0 ? '' : `, ${undecided} undecided in ${seconds} s`;
  console.log(`${room}: ${noticed} of ${decided} noticed, ${score.toFixed(2)}${isBelow ? ` < ${floor}` : ''}${left}\n`);
  if (isBelow) process.exitCode = 1;
}
