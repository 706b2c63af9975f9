import type { TailLine } from '../../../protocol/streams.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Fields } from '../../parts/fields.tsx';
import { LongText } from '../../parts/long-text.tsx';
import { Time } from '../../parts/time.tsx';
import { lineText } from './text-of-line.ts';
import { traceLink } from './trace-link.ts';

export interface LineDetailsProps {
  readonly line: TailLine;
  readonly process: string;
  /** The template of a trace's address. */
  readonly traceUrl: string | undefined;
  readonly onFilter: (text: string) => void;
  readonly onClose: () => void;
}

/** Everything that a line says. */
export function LineDetails({ line, process, traceUrl, onFilter, onClose }: LineDetailsProps) {
  const { timestamp, category, message, attributes, traceId, spanId, tenant, source, instance } = line;
  const link = traceLink(traceUrl, line);
  const texts = Object.entries(attributes).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return (
    <aside class="details" aria-label="The chosen line">
      <header class="bar">
        <h2>{category}</h2>
        <CopyButton label="Copy" text={() => lineText(line, process)} />
        <CopyButton label="Copy JSON" text={() => JSON.stringify(line, undefined, 2)} />
        <Button kind="quiet" aria-label="Close the details" onClick={onClose}>
          ×
        </Button>
      </header>
      <p class="message">
        <LongText value={message} />
      </p>
      <Fields of={Object.fromEntries(texts)} />
      <Fields
        of={{
          Time: <Time at={timestamp} />,
          Process: `${process} (${instance})`,
          Tenant: tenant,
          Logger: source,
          Trace: traceId !== undefined && (
            <>
              {link === undefined ? (
                <LongText value={traceId} />
              ) : (
                <a href={link} target="_blank" rel="noopener noreferrer">
                  <LongText value={traceId} />
                </a>
              )}{' '}
              <Button kind="quiet" onClick={() => onFilter(traceId)}>
                Only this trace
              </Button>
            </>
          ),
          Span: spanId,
        }}
      />
    </aside>
  );
}
