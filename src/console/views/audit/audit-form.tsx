import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { AUDIT_ACTIONS } from '../../../protocol/constants.ts';
import { Button } from '../../parts/button.tsx';
import type { Wanted } from './audit-filter.ts';

export interface AuditFormProps {
  readonly wanted: Wanted;
  readonly categories: Iterable<string>;
  readonly onChange: (change: Readonly<Record<string, string>>) => void;
  readonly onReset: () => void;
}

export function AuditForm({ wanted, categories, onChange, onReset }: AuditFormProps) {
  const id = useId();
  const field = (name: keyof Wanted, label: string, rest: Readonly<Record<string, unknown>> = {}) => (
    <label>
      {label}
      <input
        {...rest}
        value={wanted[name] ?? ''}
        autocomplete="off"
        spellcheck={false}
        onChange={(event) => onChange({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  const choice = (name: 'action' | 'outcome', label: string, values: readonly string[]): ComponentChildren => (
    <label>
      {label}
      <select value={wanted[name] ?? ''} onChange={(event) => onChange({ [name]: event.currentTarget.value })}>
        <option value="">any</option>
        {values.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </label>
  );
  return (
    <search class="audit-form">
      {field('category', 'Category', { list: `${id}-categories` })}
      <datalist id={`${id}-categories`}>
        {[...categories].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {choice('action', 'Action', AUDIT_ACTIONS)}
      {choice('outcome', 'Result', ['success', 'partial', 'failed', 'denied'])}
      {field('who', 'Who')}
      {field('text', 'Text', { type: 'search' })}
      {field('since', 'From', { type: 'datetime-local' })}
      {field('until', 'To', { type: 'datetime-local' })}
      {Object.keys(wanted).length > 0 && <Button onClick={onReset}>Clear filters</Button>}
    </search>
  );
}
