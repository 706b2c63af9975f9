import { useState } from 'preact/hooks';
import { isIdentifier } from '../../../wire/names.ts';
import { state } from '../page.ts';
import { Question } from '../parts/dialog.tsx';
import { Select } from '../parts/fields.tsx';
import { printable } from '../parts/format.ts';

interface TenantChoiceProps {
  readonly label: string;
  /** `undefined` for everybody. */
  readonly value: string | undefined;
  readonly onChoose: (tenant: string | undefined) => void;
}

/** The value of the option that asks for a name. Not an identifier. */
const OTHER = '?';

/** Everybody, one of the known tenants, or another one by its id. */
export function TenantChoice({ label, value, onChoose }: TenantChoiceProps) {
  const [asks, setAsks] = useState(false);
  const tenants = new Map(value === undefined ? [] : [[value, value]]);
  for (const { id, name } of state.tenants.value ?? []) {
    tenants.set(id, printable(name === undefined ? id : `${name} (${id})`, 60).text);
  }
  return (
    <>
      <Select
        label={label}
        value={value ?? ''}
        options={[['', 'Everybody'], ...tenants, [OTHER, 'Another tenant …']]}
        onChoose={(chosen) => (chosen === OTHER ? setAsks(true) : onChoose(chosen === '' ? undefined : chosen))}
      />
      {asks && (
        <Question
          title="Another tenant"
          label="Id of the tenant"
          help="1 to 255 letters, digits, dots, hyphens and underscores, as the service writes it."
          verb="Choose"
          isValid={isIdentifier}
          onAnswer={onChoose}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  );
}
