// How long importing the api takes, in fresh processes: that of the built file, without Node's own start.

import { execFileSync } from 'node:child_process';
import { built, median, publish, verdict } from './measurement.ts';

const PROCESSES = 15;

const script = `
  const start = performance.now();
  await import(${JSON.stringify(built('api.js'))});
  console.log(performance.now() - start);
`;

const milliseconds = Array.from({ length: PROCESSES }, () =>
  Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })),
);
const middle = median(milliseconds);

publish({
  timings: [],
  verdicts: [verdict('importing the api', '<= 5 ms', `${middle.toFixed(1)} ms`, middle <= 5, middle)],
});
