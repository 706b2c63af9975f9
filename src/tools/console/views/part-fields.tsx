import { useState } from 'preact/hooks';
import { FIELDS } from '../../client/fields.ts';
import { connection } from '../page.ts';
import { isLimited, MAX_CONDITIONS, PART_FIELDS, type PartForm, TEXTS, type TextName } from '../state/part.ts';

interface PartFieldsProps {
  readonly value: PartForm;
  readonly onChange: (value: PartForm) => void;
  readonly wrong: string | undefined;
  readonly disabled?: boolean;
  /** Whether it can be for one request. */
  readonly offersRequest?: boolean;
}

/** Fields for whose work, which lines and which processes are meant. */
export function PartFields({ value, onChange, wrong, disabled = false, offersRequest = false }: PartFieldsProps) {
  const { match, request = false, failed } = value;
  const [open, setOpen] = useState(false);
  // It stays open when everything is deleted.
  if (!open && isLimited(value)) setOpen(true);
  const set = (change: Partial<PartForm>) => onChange({ ...value, ...change });
  const conditions = match.length < MAX_CONDITIONS ? [...match, ''] : match;
  const field = (name: TextName) => {
    const { help, page } = PART_FIELDS[name];
    return (
      <label class="field" key={name} title={help}>
        <span>{page[0]}</span>
        <input
          value={value[name]}
          placeholder={page[1]}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => set({ [name]: currentTarget.value })}
        />
      </label>
    );
  };
  return (
    <details class="part" open={open}>
      <summary>Only some work or lines</summary>
      <fieldset class="limit-fields" disabled={disabled} aria-describedby="part-help">
        {conditions.map((condition, at) => (
          <label class="field" key={at}>
            <span>{at === 0 ? PART_FIELDS.match.page[0] : 'and with'}</span>
            <input
              value={condition}
              placeholder={at === 0 ? PART_FIELDS.match.page[1] : 'name=value'}
              disabled={request}
              spellcheck={false}
              onInput={({ currentTarget }) => set({ match: changed(match, at, currentTarget.value) })}
            />
          </label>
        ))}
        {TEXTS.filter((name) => !(name in FIELDS.processes) || connection.has('fleet')).map(field)}
        <label class="bar check">
          <input type="checkbox" checked={failed} onChange={() => set({ failed: !failed })} />
          {PART_FIELDS.failed.page[0]}
        </label>
        {offersRequest && (
          <label class="bar check">
            <input type="checkbox" checked={request} onChange={() => set({ request: !request })} />
            One request: gives a header to send with it
          </label>
        )}
      </fieldset>
      <p id="part-help" class={wrong === undefined ? 'muted' : 'wrong'}>
        {wrong ?? 'Attributes of the work, such as user.id, url.path or http.request.header.NAME.'}
      </p>
    </details>
  );
}

/** The conditions with another one at a place; without it if it is empty. */
function changed(match: readonly string[], at: number, condition: string): readonly string[] {
  return condition === '' ? match.toSpliced(at, 1) : match.toSpliced(at, 1, condition);
}
