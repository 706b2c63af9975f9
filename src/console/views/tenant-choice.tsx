import { useState } from 'preact/hooks';
import { isIdentifier } from '../../protocol/names.ts';
import { printable } from '../parts/printable.ts';
import { useFocus } from '../parts/use-focus.ts';
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
      <TenantName
        label={label}
        onDone={(id) => {
          setAsking(false);
          if (id !== undefined) onChoose(id);
        }}
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

interface TenantNameProps {
  readonly label: string;
  /** @param id `undefined` where nothing was chosen */
  readonly onDone: (id?: string) => void;
}

function TenantName({ label, onDone }: TenantNameProps) {
  const field = useFocus<HTMLInputElement>();
  return (
    <input
      ref={field}
      class="tenant-name"
      aria-label={`${label}: tenant id`}
      placeholder="Tenant id, then Enter"
      maxLength={255}
      onKeyDown={(event) => {
        const id = event.currentTarget.value.trim();
        if (event.key === 'Enter' && isIdentifier(id)) onDone(id);
        else if (event.key === 'Escape') onDone();
        else if (event.key !== 'Enter') return;
        event.preventDefault();
      }}
      onBlur={() => onDone()}
    />
  );
}
