import type { ComponentChildren, JSX } from 'preact';

// The fields of forms: each has its label, and tells its new value.

interface TextFieldProps {
  readonly label: ComponentChildren;
  readonly value: string;
  readonly title?: string;
  readonly placeholder?: string | undefined;
  readonly disabled?: boolean;
  /** Further attributes of the input. */
  readonly input?: JSX.IntrinsicElements['input'];
  /** When the callback gets the value: with each letter, or when the field loses focus. @default with each letter */
  readonly tells?: 'at once' | 'when left';
  readonly onText: (text: string) => void;
}

export function TextField({ label, title, tells = 'at once', onText, input, ...rest }: TextFieldProps) {
  const tell = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onText(currentTarget.value);
  return (
    <label class="field" title={title}>
      <span>{label}</span>
      <input
        autocomplete="off"
        spellcheck={false}
        {...input}
        {...rest}
        {...(tells === 'at once' ? { onInput: tell } : { onChange: tell })}
      />
    </label>
  );
}

interface CheckProps {
  readonly label: string;
  readonly title?: string;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onCheck: (checked: boolean) => void;
}

export function Check({ label, title, onCheck, ...input }: CheckProps) {
  return (
    <label class="bar check" title={title}>
      <input type="checkbox" {...input} onChange={({ currentTarget }) => onCheck(currentTarget.checked)} />
      {label}
    </label>
  );
}

interface SelectProps {
  readonly label: string;
  readonly title?: string;
  readonly value: string;
  readonly options: Iterable<readonly [value: string, text: string]>;
  readonly disabled?: boolean;
  readonly onChoose: (value: string) => void;
}

export function Select({ label, title, value, options, disabled = false, onChoose }: SelectProps) {
  return (
    <select
      aria-label={label}
      title={title}
      value={value}
      disabled={disabled}
      onChange={({ currentTarget }) => {
        const { value: chosen } = currentTarget;
        // What is shown is what was chosen in the end: the choice may be refused, or asked about.
        currentTarget.value = value;
        onChoose(chosen);
      }}
    >
      {[...options].map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** A select under its label. */
export function SelectField(props: SelectProps) {
  return (
    <div class="field" title={props.title}>
      <span aria-hidden="true">{props.label}</span>
      <Select {...props} />
    </div>
  );
}
