import { catalogue } from './catalogue.ts';
import { type Judgement, judge } from './conformance.ts';
import { HELP, parseOptions, UsageError } from './options.ts';
import { renderText } from './report.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = parseOptions(args, process.env);
    if (options.run === 'help') process.stdout.write(HELP);
    else if (options.run === 'checks') process.stdout.write(options.json ? json({ checks: listed() }) : listing());
    else return await judged(options);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${message}\n${error instanceof UsageError ? 'Try --help.\n' : ''}`);
    return 2;
  }
}

async function judged(options: Judgement & { readonly json: boolean }): Promise<number> {
  const interrupt = new AbortController();
  // The first interrupt ends the run in order, so that the server is left as it was; a second one ends it at once.
  process.once('SIGINT', () => interrupt.abort());
  const report = await judge(options, (line) => process.stderr.write(`${line}\n`), interrupt.signal);
  process.stdout.write(options.json ? json(report) : renderText(report));
  if (options.readOnly === true) {
    process.stderr.write('Only what can be read was checked: --changes checks the rest.\n');
  }
  return report.conformant ? 0 : 1;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function listed() {
  return catalogue.map(({ id, strength, section, statement }) => ({ id, strength, section, statement }));
}

function listing(): string {
  return listed()
    .map(({ id, strength, section, statement }) => `${id.padEnd(11)} ${strength.padEnd(6)} ${section}: ${statement}\n`)
    .join('');
}
