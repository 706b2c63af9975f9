import { format } from 'node:util';

/** Stands for a value whose own code throws while it is formatted. */
export const UNFORMATTABLE = '[could not be formatted]';

/** Formats as `util.format` does. A value whose `toString` or `inspect.custom` throws is replaced. Never throws. */
export function formatLine(args: readonly unknown[]): string {
  try {
    return format(...args);
  } catch {
    return args.map(formatAlone).join(' ');
  }
}

function formatAlone(value: unknown): string {
  try {
    return format(value);
  } catch {
    return UNFORMATTABLE;
  }
}
