import { type Option, type Terminal, UsageError, type Values } from './command.ts';
import { oneOf } from './option-values.ts';

const FORMATS = ['table', 'json', 'wide'] as const;

/** `wide` is a table with more columns. */
export type Format = (typeof FORMATS)[number];

export const OUTPUT_OPTIONS = {
  output: { short: 'o', value: 'FORMAT', help: `${FORMATS.join(', ')} (default: table)`, completes: FORMATS },
  json: { help: 'the same as -o json' },
} as const satisfies Record<string, Option>;

export function formatOf(values: Values): Format {
  const format = oneOf(FORMATS, values, 'output') ?? (values.json === true ? 'json' : 'table');
  if (values.json === true && format !== 'json') throw new UsageError('--json and --output cannot be combined');
  return format;
}

export function present(terminal: Terminal, values: Values, answer: object, inWords: (wide: boolean) => void): void {
  const format = formatOf(values);
  try {
    if (format === 'json') terminal.json(answer, 2);
    else inWords(format === 'wide');
  } catch (error) {
    // Another server may leave out what a table shows.
    if (!(error instanceof TypeError)) throw error;
    throw new Error('the answer lacks fields that this command shows; -o json prints it unchanged', { cause: error });
  }
}
