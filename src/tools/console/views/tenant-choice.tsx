import { useId, useState } from 'preact/hooks';
import { isIdentifier } from '../../../wire/names.ts';
import { state } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { printable } from '../parts/format.ts';
import { useFocus } from '../parts/use-focus.ts';

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
  const tenants = state.tenants.value ?? [];
  const known = tenants.some(({ id }) => id === value);
  const [asks, setAsks] = useState(false);
  return (
    <>
      <select
        aria-label={label}
        value={value ?? ''}
        onChange={({ currentTarget }) => {
          const { value: chosen } = currentTarget;
          if (chosen !== OTHER) {
            onChoose(chosen === '' ? undefined : chosen);
            return;
          }
          currentTarget.value = value ?? '';
          setAsks(true);
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
      {asks && (
        <OtherTenant
          onClose={() => setAsks(false)}
          onChoose={(id) => {
            setAsks(false);
            onChoose(id);
          }}
        />
      )}
    </>
  );
}

interface OtherTenantProps {
  readonly onClose: () => void;
  readonly onChoose: (id: string) => void;
}

/** Asks for the id of a tenant that has no settings yet. */
function OtherTenant({ onClose, onChoose }: OtherTenantProps) {
  const field = useFocus<HTMLInputElement>();
  const help = useId();
  const [wrong, setWrong] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    // It may be within the form of another dialog.
    event.stopPropagation();
    const id = field.current?.value.trim() ?? '';
    if (isIdentifier(id)) onChoose(id);
    else setWrong(true);
  };
  return (
    <Dialog title="Another tenant" onClose={onClose}>
      <form class="switch" onSubmit={submit} noValidate>
        <label class="field">
          <span>Id of the tenant</span>
          <input ref={field} autocomplete="off" spellcheck={false} aria-invalid={wrong} aria-describedby={help} />
        </label>
        <p id={help} class={wrong ? 'wrong' : 'muted'} role={wrong ? 'alert' : undefined}>
          1 to 255 letters, digits, dots, hyphens and underscores, as the service writes it.
        </p>
        <div class="bar">
          <Button type="submit" kind="primary">
            Choose
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
