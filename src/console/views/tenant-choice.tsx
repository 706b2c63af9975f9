import { useState } from 'preact/hooks';
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
  const [asking, setAsking] = useState(false);
  const known = tenants.some(({ id }) => id === value);
  if (asking) {
    return (
      <input
        class="tenant-name"
        aria-label={`${label}: tenant id`}
        placeholder="Tenant id, then Enter"
        autofocus
        maxLength={255}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setAsking(false);
          if (event.key !== 'Enter') return;
          event.preventDefault();
          const id = event.currentTarget.value.trim();
          if (!isIdentifier(id)) return;
          setAsking(false);
          onChoose(id);
        }}
        onBlur={() => setAsking(false)}
      />
    );
  }
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={({ currentTarget }) => {
        if (currentTarget.value === OTHER) setAsking(true);
        else onChoose(currentTarget.value === '' ? undefined : currentTarget.value);
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
