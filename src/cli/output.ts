import { type Option, type Terminal, text, UsageError, type Values } from './command.ts';

const FORMATS = ['table', 'json', 'wide'] as const;

/** `wide` is a table with more columns. */
export type Format = (typeof FORMATS)[number];

/** Of every command that shows an answer. */
export const OUTPUT_OPTIONS = {
  output: {
    type: 'string',
    short: 'o',
    value: 'FORMAT',
    help: `${FORMATS.join(', ')} (default: table)`,
    completes: FORMATS,
  },
  json: { type: 'boolean', help: 'the same as -o json' },
} as const satisfies Record<string, Option>;

export function formatOf(values: Values): Format {
  const given = text(values, 'output') ?? (values.json === true ? 'json' : 'table');
  const format = FORMATS.find((each) => each === given);
  if (format === undefined) throw new UsageError(`--output must be one of ${FORMATS.join(', ')}`);
  if (values.json === true && format !== 'json') throw new UsageError('--json and --output cannot be combined');
  return format;
}

/** Shows an answer as JSON, or in words. */
export function present(terminal: Terminal, values: Values, answer: object, inWords: (wide: boolean) => void): void {
  const format = formatOf(values);
  if (format === 'json') terminal.out(JSON.stringify(answer, undefined, 2));
  else shown(() => inWords(format === 'wide'));
}

/** Another server may leave out what a table shows. */
function shown(show: () => void): void {
  try {
    show();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Error("the server's answer lacks what is shown here; -o json prints it as it is", { cause: error });
  }
}
