import { catalogue } from '../../src/conformance/catalogue.ts';
import { judge } from '../../src/conformance/conformance.ts';
import { renderText } from '../../src/conformance/report.ts';
import { HELP, parseOptions, UsageError } from './options.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = parseOptions(args);
    if (options === 'help') return say(HELP);
    if (options === 'list') return say(listing());
    const interrupt = new AbortController();
    // The first interrupt ends the run in order, so that the server is left as it was; a second one ends it at once.
    process.once('SIGINT', () => interrupt.abort());
    const report = await judge(options, (line) => process.stderr.write(`${line}\n`), interrupt.signal);
    say(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderText(report));
    return report.conformant ? 0 : 1;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${message}\n${error instanceof UsageError ? 'Try --help.\n' : ''}`);
    return 2;
  }
}

function say(text: string): number {
  process.stdout.write(text);
  return 0;
}

function listing(): string {
  return catalogue
    .map(({ id, strength, section, statement }) => `${id.padEnd(11)} ${strength.padEnd(6)} ${section}: ${statement}\n`)
    .join('');
}
