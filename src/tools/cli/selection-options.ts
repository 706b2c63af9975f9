import { given } from '../../wire/json-text.ts';
import { FIELDS, type Field, FieldError, type FieldName, type Filled, optionOf, readFields } from '../client/fields.ts';
import { type Option, UsageError, type Values } from './command.ts';

const GROUP = 'Which work, lines and processes:';

function optionsFor(fields: Readonly<Record<string, Field>>, group?: string): Readonly<Record<string, Option>> {
  const options = Object.entries(fields).map(
    ([name, { option = name, at: _, page: __, read: ___, ...rest }]) =>
      [option, { ...rest, ...given({ group }) }] as const,
  );
  return Object.fromEntries(options);
}

export const INSTANCE_OPTIONS = optionsFor(FIELDS.processes, GROUP);
export const SELECTION_OPTIONS = { ...optionsFor(FIELDS.work, GROUP), ...INSTANCE_OPTIONS };
export const OUTCOME_OPTIONS = optionsFor(FIELDS.outcome, GROUP);
export const LIMIT_OPTIONS = optionsFor(FIELDS.limits);

export function filledOf(values: Values, names: readonly FieldName[]): Filled {
  try {
    return readFields(Object.fromEntries(names.map((name) => [name, values[optionOf(name)]])));
  } catch (error) {
    if (error instanceof FieldError) throw new UsageError(`--${optionOf(error.field)} ${error.message}`);
    throw error;
  }
}

const SELECTION = Object.keys({ ...FIELDS.work, ...FIELDS.processes, ...FIELDS.outcome }) as FieldName[];

export function selectionOf(values: Values): Omit<Filled, 'budget'> {
  return filledOf(values, SELECTION);
}

export function limitsOf(values: Values): Filled['budget'] {
  return filledOf(values, Object.keys(FIELDS.limits) as FieldName[]).budget;
}
