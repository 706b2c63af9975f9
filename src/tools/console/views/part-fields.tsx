import { useState } from 'preact/hooks';
import { FIELDS } from '../../client/fields.ts';
import { connection } from '../page.ts';
import { Check, TextField } from '../parts/fields.tsx';
import { useFocus } from '../parts/use-focus.ts';
import { limitsOf, MAX_CONDITIONS, PART_FIELDS, type PartForm, TEXTS } from '../state/part.ts';

interface PartFieldsProps {
  readonly value: PartForm;
  readonly onChange: (value: PartForm) => void;
  readonly wrong: string | undefined;
  readonly disabled?: boolean;
  /** Whether it can be for one request. */
  readonly offersRequest?: boolean;
  /** Whether the first field has the focus when it is shown. */
  readonly hasFocus?: boolean;
  /** Whether the attributes of the work are asked for elsewhere. */
  readonly withoutMatch?: boolean;
}

/** Fields for whose work, which lines and which processes are meant. */
export function PartFields({ wrong, disabled = false, withoutMatch = false, ...props }: PartFieldsProps) {
  const { value, onChange, offersRequest = false } = props;
  const { failed } = value;
  const [open, setOpen] = useState(false);
  // It stays open when everything is deleted.
  if (!open && limitsOf(withoutMatch ? { ...value, match: [], failed: false } : value).length > 0) setOpen(true);
  const set = (change: Partial<PartForm>) => onChange({ ...value, ...change });
  return (
    <>
      <details class="part" open={open}>
        <summary>{offersRequest && 'More: '}Only some work or lines</summary>
        <fieldset class="limit-fields" disabled={disabled} aria-describedby="part-help">
          {!withoutMatch && <MatchFields {...props} />}
          {TEXTS.filter((name) => !(name in FIELDS.processes) || connection.has('fleet')).map((name) => (
            <TextField
              key={name}
              label={PART_FIELDS[name].page[0]}
              title={PART_FIELDS[name].help}
              value={value[name]}
              placeholder={PART_FIELDS[name].page[1]}
              onText={(text) => set({ [name]: text })}
            />
          ))}
          <Check label={PART_FIELDS.failed.page[0]} checked={failed} onCheck={() => set({ failed: !failed })} />
        </fieldset>
        <p id="part-help" class="muted">
          Attributes of the work, such as user.id, url.path or http.request.header.NAME.
        </p>
      </details>
      {/* Also seen where the fields are folded away. */}
      {wrong !== undefined && (
        <p class="wrong" role="alert">
          {wrong}
        </p>
      )}
    </>
  );
}

/** Fields for the attributes of the work, one more than are filled in. */
export function MatchFields({ value, onChange, offersRequest, hasFocus }: Omit<PartFieldsProps, 'wrong'>) {
  const { match, request = false } = value;
  const first = useFocus<HTMLInputElement>();
  const conditions = match.length < MAX_CONDITIONS ? [...match, ''] : match;
  return (
    <>
      {conditions.map((condition, at) => (
        <TextField
          key={at}
          label={at === 0 ? PART_FIELDS.match.page[0] : 'and with'}
          value={condition}
          placeholder={at === 0 ? PART_FIELDS.match.page[1] : 'name=value'}
          disabled={request}
          {...(hasFocus && at === 0 && { input: { ref: first } })}
          onText={(text) => onChange({ ...value, match: match.toSpliced(at, 1, ...(text === '' ? [] : [text])) })}
        />
      ))}
      {offersRequest && (
        <Check
          label="One request: gives a header to send with it"
          checked={request}
          onCheck={() => onChange({ ...value, request: !request })}
        />
      )}
    </>
  );
}
