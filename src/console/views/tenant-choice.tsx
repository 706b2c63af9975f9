import { isIdentifier } from '../../protocol/names.ts';
import { printable } from '../parts/printable.ts';
import type { Connection } from '../state/connection.ts';
import { useStore } from '../state/use-store.ts';

interface TenantChoiceProps {
  readonly connection: Connection;
  readonly label: string;
  /** `undefined` for everybody. */
  readonly value: string | undefined;
  readonly onChoose: (tenant: string | undefined) => void;
}

/** The value of the option that asks for a name. Not an identifier. */
const OTHER = '?';

/** Everybody, one of the known tenants, or another one by its id. */
export function TenantChoice({ connection, label, value, onChoose }: TenantChoiceProps) {
  const tenants = useStore(connection, (state) => state.tenants) ?? [];
  const known = tenants.some(({ id }) => id === value);
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={({ currentTarget }) => {
        const { value: chosen } = currentTarget;
        const id = chosen === OTHER ? (prompt('Id of the tenant')?.trim() ?? '') : chosen;
        if (chosen === '') onChoose(undefined);
        else if (isIdentifier(id)) onChoose(id);
        else currentTarget.value = value ?? '';
      }}
    >
      <option value="">Everybody</option>
      {value !== undefined && !known && <option value={value}>{value}</option>}
      {tenants.map(({ id, name }) => (
        <option key={id} value={id}>
          {printable(name === undefined ? id : `${name} (${id})`, 60).text}
        </option>
      ))}
      <option value={OTHER}>Another tenant …</option>
    </select>
  );
}
