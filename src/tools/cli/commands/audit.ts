import { type AuditEntry, type AuditResponse, actionOf } from '../../../wire/audit-messages.ts';
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../../wire/constants.ts';
import { given } from '../../../wire/json-text.ts';
import { nameSome } from '../../../wire/printable.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import { parseDuration, parseTimestamp, type Timestamp, timestamp } from '../../../wire/time.ts';
import { partText } from '../../../wire/words/activation.ts';
import { whoOf } from '../../../wire/words/change.ts';
import { levelText } from '../../../wire/words/level.ts';
import type { AuditFilter } from '../../client/audit.ts';
import type { RdcpClient } from '../../client/client.ts';
import { type Command, type Terminal, text, UsageError, type Values } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { localTime, timeCell } from '../local-time.ts';
import { oneOf, present, wholeNumber } from '../options.ts';
import type { Cell, Column } from '../table.ts';

/** `end` is a `reset` of what lasts for a while. */
const ACTIONS = [...AUDIT_ACTIONS, 'end'] as const;

export const audit: Command = ofServices({
  summary: 'show the audit trail, newest entry first; audit verify checks it',
  subcommands: { verify: async () => (await import('./audit-verify.ts')).auditVerify },
  options: {
    limit: { value: 'N', help: 'maximum number of entries, 1 to 1000 (default: 20)' },
    since: { value: 'WHEN', help: 'entries from this time on: 2h (ago) or 2026-01-31T00:00:00.000Z' },
    until: { value: 'WHEN', help: 'entries before this time' },
    action: {
      value: 'NAME',
      completes: ACTIONS,
      help: 'only this action: enable, end, expire, authorize, token.issue, ...',
    },
    outcome: { value: 'NAME', completes: AUDIT_OUTCOMES, help: `only ${AUDIT_OUTCOMES.join(', ')}` },
    category: { value: 'NAME', completes: 'categories', help: 'only entries about this category' },
    client: { value: 'ID', help: 'only entries of this client' },
    cursor: { value: 'CURSOR', help: 'continue where the previous page ended' },
    ...CONNECTION_OPTIONS,
  },
  notes: ['Of several services --limit is of each; entries of a store that they share are shown once.'],
  examples: ['rdcp audit --since 2h', 'rdcp audit --category DATABASE --outcome denied -o json'],
  run: async (terminal, values) => {
    const action = oneOf(ACTIONS, values, 'action');
    const filter = { ...filterOf(terminal, values), ...(action && { action: action === 'end' ? 'reset' : action }) };
    const client = await connectToRead(terminal, values);
    const answer = await page(client, filter, (entry) => action === undefined || actionOf(entry) === action);
    present(terminal, values, answer, (wide) => {
      const times = answer.entries.map(({ timestamp }) => timestamp);
      terminal.table(answer.entries, columnsOf(terminal, wide), { times });
      if (answer.otelrdcp_next !== undefined)
        terminal.note(`More entries: ${shellWords('--cursor', answer.otelrdcp_next)}`);
    });
  },
});

/** Most pages per command: Redis scans 20,000 entries for each, and a hostile server could go on for ever. */
const MOST_PAGES = 200;

/** A page may have fewer entries than requested, or none, when the server scanned many that did not match. */
async function page(
  client: Pick<RdcpClient, 'audit'>,
  filter: LimitedFilter,
  isWanted: (entry: AuditEntry) => boolean,
): Promise<AuditResponse> {
  let answer = await client.audit(filter);
  const entries = answer.entries.filter(isWanted);
  for (let pages = 1; answer.otelrdcp_next !== undefined && entries.length < filter.limit; pages++) {
    if (pages === MOST_PAGES) throw new Error(`the server answered ${pages} pages without an end`);
    const { otelrdcp_next: cursor } = answer;
    answer = await client.audit({ ...filter, limit: filter.limit - entries.length, cursor });
    entries.push(...answer.entries.filter(isWanted));
  }
  return { ...answer, entries };
}

type LimitedFilter = AuditFilter & { readonly limit: number };

function filterOf(terminal: Terminal, values: Values): LimitedFilter {
  return {
    limit: wholeNumber(values, 'limit', 1000) ?? 20,
    ...given({
      since: instant(terminal, values, 'since'),
      until: instant(terminal, values, 'until'),
      outcome: oneOf(AUDIT_OUTCOMES, values, 'outcome'),
      category: text(values, 'category')?.toUpperCase(),
      client: text(values, 'client'),
      cursor: text(values, 'cursor'),
    }),
  };
}

function instant(terminal: Terminal, values: Values, name: string): Timestamp | undefined {
  const value = text(values, name);
  if (value === undefined || parseTimestamp(value) !== undefined) return value;
  const seconds = parseDuration(value);
  if (seconds === undefined)
    throw new UsageError(`--${name} must be a duration such as 2h (ago) or a time such as 2026-01-31T00:00:00.000Z`);
  return timestamp(Math.max(0, terminal.now() - seconds * 1000));
}

/** The id of a process, of which a part is enough to tell it apart. */
const UUID = /\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

function columnsOf(terminal: Terminal, wide: boolean): Column<AuditEntry>[] {
  return [
    ['TIME', ({ timestamp }) => (wide ? localTime(timestamp) : timeCell(terminal, timestamp))],
    ['WHO', ({ identity, tenant }) => whoOf(identity, tenant?.id)],
    ['ACTION', actionText],
    ['CATEGORIES', ({ categories }) => (wide ? categories.join(', ') : nameSome(categories, { most: 2 })) || '-'],
    ['OUTCOME', outcome],
    wide && ['CLIENT', ({ identity }) => identity.clientId ?? '-'],
    wide && ['METHOD', ({ identity }) => identity.method ?? '-'],
    wide && ['ADDRESS', ({ source }) => source?.address ?? '-'],
    wide && ['REQUEST', ({ requestId }) => requestId ?? '-'],
    // On a terminal it may stand below the others, where no line is needed for none.
    [
      'REASON',
      ({ reason = terminal.screen.isTTY === true ? '' : '-' }) => (wide ? reason : reason.replace(UUID, '$1')),
    ],
  ];
}

/** Such as `enable for user.id=(hidden)`: what is on for some work is not on for everybody. */
function actionText(entry: AuditEntry): string {
  const { otelrdcp_activation: activation, otelrdcp_level: level } = entry;
  const whom = activation ? partText(activation) : '';
  if (whom !== '') return `${actionOf(entry)} for ${whom}`;
  return level === undefined ? actionOf(entry) : `${actionOf(entry)}, ${levelText(level)}`;
}

function outcome({ outcome, error }: AuditEntry): Cell {
  const text = error === undefined ? outcome : `${outcome} ${error}`;
  return outcome === 'denied' || outcome === 'failed' ? [text, 'red'] : text;
}
