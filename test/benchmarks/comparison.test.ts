import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareRuns, formatDifference } from '../../benchmarks/comparison.ts';
import { beside, timing } from '../../benchmarks/load/contest.ts';
import { combine, verdict } from '../../benchmarks/measurement.ts';
import { publishedRun } from '../../docs/performance.ts';

function timed(p25: number, p50: number, p75: number, name = 'debug') {
  return { emit: { timings: [{ name, p25, p50, p75 }], verdicts: [] } };
}

/** A verdict as three processes find it. */
function judged(target: string, values: readonly number[]) {
  const reports = values.map((value) => ({
    timings: [],
    verdicts: [verdict('it', target, String(value), true, value)],
  }));
  return { status: combine(reports) };
}

const changes = (...runs: Parameters<typeof compareRuns>) => compareRuns(...runs).map(({ change }) => change);

describe('a run of the benchmarks beside an earlier one', () => {
  it('marks a timing as slower where its quartiles are above those of before', () => {
    const [slower] = compareRuns(timed(9, 10, 11), timed(12, 20, 21));
    assert.deepEqual(slower, {
      what: 'emit: debug',
      change: 'SLOWER',
      factor: 2,
      before: '10.00 ns',
      after: '20.00 ns',
    });
  });

  it('marks nothing where the spreads of both overlap, however far the middles are apart', () => {
    assert.deepEqual(changes(timed(9, 10, 13), timed(12, 20, 21)), ['same']);
    assert.deepEqual(changes(timed(12, 20, 21), timed(9, 10, 13)), ['same']);
  });

  it('says what became faster', () => {
    assert.deepEqual(changes(timed(12, 20, 21), timed(9, 10, 11)), ['faster']);
  });

  it('compares ratios by the spread of their processes', () => {
    const target = '<= 0.45 of importing sdk-node';
    assert.deepEqual(changes(judged(target, [0.3, 0.31, 0.33]), judged(target, [0.34, 0.4, 0.5])), ['SLOWER']);
    assert.deepEqual(changes(judged(target, [0.3, 0.31, 0.35]), judged(target, [0.34, 0.4, 0.5])), ['same']);
  });

  it('takes what is to be large as slower where it became smaller', () => {
    const target = '>= 0.6 of the bare Koa route';
    const [slower] = compareRuns(judged(target, [0.79, 0.8, 0.81]), judged(target, [0.39, 0.4, 0.41]));
    assert.equal(slower?.change, 'SLOWER');
    assert.equal(slower?.factor, 2);
  });

  it('leaves out what only one of them measured', () => {
    assert.deepEqual(compareRuns(timed(9, 10, 11, 'old'), timed(9, 10, 11, 'new')), []);
    assert.deepEqual(compareRuns({}, timed(9, 10, 11)), []);
  });

  it('reads the file that is published', () => {
    const { reports } = publishedRun();
    const differences = compareRuns(reports, reports);
    assert.ok(differences.length > 0);
    assert.ok(differences.every(({ change }) => change === 'same'));
    assert.match(formatDifference(differences[0]!), /^ {2}same {4}[\w-]+: .+ 1\.00 times +(\S.*) -> \1$/);
  });
});

describe('a service beside another one', () => {
  it('is judged round by round, so that a neighbour that comes and goes says nothing', () => {
    const outcome = (rounds: readonly number[]) => {
      const taken = timing('a request', rounds);
      return { wall: taken, cpu: taken, answerBytes: 0 };
    };
    const { ratio } = beside(outcome([100, 210, 100, 208, 105]), outcome([100, 200, 100, 200, 100]), 'clock');
    assert.equal(ratio, 200 / 208);
  });
});
