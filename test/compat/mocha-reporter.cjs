const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');

/** Writes what node-reporter.mjs writes, in every version of Mocha. */
module.exports = function compatReporter(runner) {
  const write = (test, error) => {
    const line = { file: relative(process.cwd(), test.file ?? ''), name: test.fullTitle(), error };
    appendFileSync(process.env.COMPAT_RESULTS, `${JSON.stringify(line)}\n`);
  };
  runner.on('pass', (test) => write(test));
  runner.on('fail', (test, error) => write(test, String(error?.message ?? error)));
};
