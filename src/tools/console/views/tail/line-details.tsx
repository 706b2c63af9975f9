import type { JsonValue } from '../../../../wire/streams.ts';
import { clockTime } from '../../../../wire/words/time.ts';
import { Button, CopyButton } from '../../parts/button.tsx';
import { printable, utcTime } from '../../parts/format.ts';
import { Fields } from '../../parts/tables.tsx';
import { LongText } from '../../parts/text.tsx';
import { fieldOf, plainValue, termFor } from './filter.ts';
import type { LineRow } from './row.ts';
import { lineText, traceLink } from './text-of-line.ts';
import { Waterfall } from './waterfall.tsx';

interface LineDetailsProps {
  readonly row: LineRow;
  /** The template of a trace's address. */
  readonly traceUrl: string | undefined;
  /** Adds a word to the filter. */
  readonly onTerm: (term: string) => void;
  /** Begins again with the work, or with the lines, whose attribute has this value. */
  readonly onOnly: (name: string, value: JsonValue, of: 'work' | 'lines') => void;
  readonly onClose: () => void;
}

/** Everything that a line says. */
export function LineDetails({ row, traceUrl, onTerm, onOnly, onClose }: LineDetailsProps) {
  const { line, at, clock, process, work } = row;
  const { timestamp, category, message, attributes, traceId, spanId, tenant, source, instance } = line;
  const trace = fieldOf(row, 'trace');
  const link = traceLink(traceUrl, line);
  const values = Object.entries(attributes).map(([name, value]) => [
    name,
    <>
      <LongText value={plainValue(value)} />{' '}
      {value !== null && typeof value !== 'object' && (
        <>
          <TermButtons name={name} value={plainValue(value)} onTerm={onTerm} />
          <Button
            kind="quiet"
            aria-label={`Only this ${printable(name, 80).text}`}
            title={`Starts again with ${ofWork(name) ? 'all lines of this work' : 'these lines'} only`}
            onClick={() => onOnly(name, value, ofWork(name) ? 'work' : 'lines')}
          >
            Only this
          </Button>
        </>
      )}
    </>,
  ]);
  const field = (name: string, value: string | undefined, text = value) =>
    value !== undefined && (
      <>
        <LongText value={text ?? value} /> <TermButtons name={name} value={value} onTerm={onTerm} />
      </>
    );
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
      {trace !== undefined && (
        <div class="bar">
          <Button onClick={() => onTerm(termFor('trace', trace))}>Only this trace</Button>
          {link !== undefined && (
            <a class="button plain" href={link} target="_blank" rel="noopener noreferrer">
              Open the trace ↗
            </a>
          )}
        </div>
      )}
      <Waterfall of={row} />
      <Fields of={Object.fromEntries(values)} />
      <Fields
        of={{
          Time: (
            <time dateTime={timestamp} title={utcTime(new Date(at))}>
              {clockTime(at).replace(/\S*$/, clock)}
            </time>
          ),
          Process: field('process', process, `${process} (${instance})`),
          Tenant: field('tenant', tenant),
          Logger: field('logger', source),
          Work: work?.outcome,
          Trace: traceId,
          Span: spanId,
        }}
      />
    </aside>
  );
}

/** Whether an attribute says whose work it is, by the names of OpenTelemetry's conventions: a line may repeat it. */
function ofWork(name: string): boolean {
  return /^(?:user|enduser|session|url|http|client|server|service|messaging|rpc|faas|tenant)\./.test(name);
}

interface TermButtonsProps {
  readonly name: string;
  readonly value: string;
  readonly onTerm: (term: string) => void;
}

function TermButtons({ name, value, onTerm }: TermButtonsProps) {
  const what = printable(`${name} ${value}`, 80).text;
  return (
    <>
      <Button kind="quiet" aria-label={`Filter for ${what}`} onClick={() => onTerm(termFor(name, value))}>
        +
      </Button>
      <Button kind="quiet" aria-label={`Leave out ${what}`} onClick={() => onTerm(`-${termFor(name, value)}`)}>
        −
      </Button>
    </>
  );
}
