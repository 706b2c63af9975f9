import type { ControlCommand, ControlOptions, RdcpClient } from '../../client/client.ts';
import { escapeUnprintable } from '../../printable.ts';
import { type ControlAction, EVERYBODY, MAX_BUDGET_RATE, MAX_BUDGET_TOTAL } from '../../protocol/constants.ts';
import type { ControlResponse } from '../../protocol/messages.ts';
import { type Command, EXIT, type Option, type Terminal, text, UsageError, type Values } from '../command.ts';
import { accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { forecastTable, noteGaps } from '../forecast-table.ts';
import { namesOf, parseSelection, type Selection, suggesting } from '../names.ts';
import { wholeNumber } from '../numbers.ts';
import { present } from '../output.ts';
import { state, table } from '../table.ts';
import { unknownTenant } from '../tenant.ts';
import { between, clockTime, duration, remaining } from '../times.ts';
import { some } from '../words.ts';

/** How long `enable` and `toggle` last unless something else is said: nobody can forget a category on. */
const LEASE = '15m';

const LASTING = {
  for: { type: 'string', value: '5m', help: `duration, after which the change ends (default: ${LEASE})` },
  permanent: { type: 'boolean', help: 'until it is switched again' },
} as const satisfies Record<string, Option>;
const BUDGET = {
  rate: { type: 'string', value: 'N', help: 'maximum calls per second; more than configured needs admin' },
  calls: { type: 'string', value: 'N', help: 'end after N calls' },
  bytes: { type: 'string', value: 'N', help: 'end after N bytes' },
  unlimited: { type: 'boolean', help: 'no limit on calls (needs admin)' },
} as const satisfies Record<string, Option>;
const FOR: Option = { type: 'string', value: '5m', help: 'duration, after which the change ends (default: permanent)' };
const ALL: Option = { type: 'boolean', help: 'every category' };
const COMMON = {
  reason: { type: 'string', value: 'TEXT', help: 'reason, for the audit trail' },
  'dry-run': { type: 'boolean', help: 'only show what would change' },
  yes: { type: 'boolean', short: 'y', help: 'do not ask' },
} as const satisfies Record<string, Option>;

const NAMES = "Lower case is accepted. A pattern such as 'DB_*' is shown and asked about before it is sent.";

export const enable = switching('enable', {
  summary: `switch categories on, for ${LEASE} unless another time is given`,
  options: {
    ...LASTING,
    ...BUDGET,
    forecast: { type: 'boolean', help: 'measure for 10s what it would emit, show that, and on a terminal ask' },
  },
  examples: ["rdcp enable DATABASE --for 5m --reason 'slow checkout'", "rdcp enable 'DB_*' --rate 20 --calls 5000"],
});
export const disable = switching('disable', {
  summary: 'switch categories off',
  options: { for: FOR },
  examples: ['rdcp disable DATABASE', "rdcp disable 'DB_*' --for 1h --yes"],
});
export const toggle = switching('toggle', {
  summary: `switch each category to its opposite state, for ${LEASE} unless another time is given`,
  options: { ...LASTING, ...BUDGET },
  examples: ['rdcp toggle DATABASE', 'rdcp toggle DATABASE --permanent'],
});
export const reset = switching('reset', {
  summary: 'remove settings: categories return to the state that they inherit',
  options: { all: ALL },
  examples: ['rdcp reset DATABASE', "rdcp reset --all --reason 'incident over'"],
});

function switching(
  action: Exclude<ControlAction, 'status'>,
  { summary, options, examples }: Pick<Command, 'summary' | 'options' | 'examples'>,
): Command {
  return {
    summary,
    operands: action === 'reset' ? '[name...]' : '<name...>',
    completes: 'categories',
    options: { ...options, ...COMMON, ...CONNECTION_OPTIONS },
    notes: [NAMES],
    examples,
    run: async (terminal, values, operands) => {
      const selection = selectionOf(action, values, operands);
      const settings = settingsOf(action, values);
      const access = accessOf(terminal, values);
      const client = clientOf(terminal, access);
      const categories = selection && (await confirmed(terminal, values, client, { action, selection, settings }));
      if (selection !== undefined && categories === undefined) {
        terminal.note('Nothing was changed.');
        return EXIT.refused;
      }
      if (settings.otelrdcp_dryRun === true) await assertKnowsDryRuns(client);
      const command: ControlCommand = {
        action,
        ...(categories && { categories }),
        ...(Object.keys(settings).length > 0 && { options: settings }),
      };
      const answer = await suggesting(client, () => client.control(command));
      show(terminal, values, answer);
      if (answer.otelrdcp_tenantKnown === false && access.tenantId !== undefined) {
        const everybody = clientOf(terminal, { ...access, tenantId: undefined });
        terminal.note(`rdcp: ${escapeUnprintable(await unknownTenant(everybody, access.tenantId))}`);
      }
      if (answer.status === 'failed') return EXIT.refused;
      if (answer.status !== 'partial') return EXIT.done;
      terminal.note(`rdcp: partially applied: ${escapeUnprintable(answer.message)}`);
      return EXIT.partial;
    },
  };
}

/** `undefined` for every category. */
function selectionOf(action: ControlAction, values: Values, words: readonly string[]): Selection | undefined {
  if (values.all !== true) {
    if (words.length === 0) throw new UsageError(`${action} needs at least one category name; see 'rdcp list'`);
    return parseSelection(words);
  }
  if (words.length > 0) throw new UsageError('--all cannot be combined with category names');
  return undefined;
}

function settingsOf(action: ControlAction, values: Values): ControlOptions {
  const reason = text(values, 'reason');
  const budget = budgetOf(values);
  const given = duration(values, 'for');
  if (values.permanent === true && (given !== undefined || budget.otelrdcp_budget !== undefined)) {
    throw new UsageError('--permanent cannot be combined with --for, --rate, --calls, --bytes or --unlimited');
  }
  const leased = action === 'enable' || action === 'toggle';
  const lasting = given ?? (leased && values.permanent !== true ? LEASE : undefined);
  return {
    ...(lasting === undefined ? {} : { temporary: true, duration: lasting }),
    ...(reason === undefined ? {} : { reason }),
    ...budget,
    ...(values['dry-run'] === true && { otelrdcp_dryRun: true }),
  };
}

function budgetOf(values: Values): Pick<ControlOptions, 'otelrdcp_budget'> {
  const limits = {
    callsPerSecond: wholeNumber(values, 'rate', MAX_BUDGET_RATE),
    calls: wholeNumber(values, 'calls', MAX_BUDGET_TOTAL),
    bytes: wholeNumber(values, 'bytes', MAX_BUDGET_TOTAL),
  };
  const limited = Object.values(limits).some((value) => value !== undefined);
  if (values.unlimited !== true) return limited ? { otelrdcp_budget: limits } : {};
  if (limited) throw new UsageError('--unlimited cannot be combined with --rate, --calls or --bytes');
  return { otelrdcp_budget: false };
}

interface Intent {
  readonly action: ControlAction;
  readonly selection: Selection;
  readonly settings: ControlOptions;
}

/** The names to send; `undefined` when the person does not want that, having seen what a pattern stands for or what it costs. */
async function confirmed(
  terminal: Terminal,
  values: Values,
  client: RdcpClient,
  { action, selection, settings }: Intent,
): Promise<readonly string[] | undefined> {
  const { patterns } = selection;
  const asking = values.yes !== true && settings.otelrdcp_dryRun !== true;
  if (asking && patterns.length > 0 && !terminal.interactive) {
    throw new UsageError(`a pattern needs --yes without a terminal: ${patterns.join(', ')}`);
  }
  const names = await namesOf(terminal, client, selection);
  if (values.forecast === true) {
    if (terminal.interactive) terminal.note('Measuring for 10s.');
    const plain = { paint: (text: string) => terminal.paint(text, undefined), screen: terminal.screen };
    const expected = await suggesting(client, () => client.forecast(names));
    terminal.note(`${forecastTable(plain, expected)}\n`);
    noteGaps(terminal, expected);
  }
  if (!asking || !terminal.interactive || (patterns.length === 0 && values.forecast !== true)) return names;
  const time = settings.duration === undefined ? '' : ` for ${settings.duration}`;
  const what = names.length === 1 ? 'this category' : `these ${names.length} categories`;
  return (await agrees(terminal, `${action} ${what}${time}?`)) ? names : undefined;
}

async function agrees(terminal: Terminal, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await terminal.ask(`${question} [y/N] `)).trim());
}

/** Another implementation of the protocol may ignore the option, and make the change. */
async function assertKnowsDryRuns(client: RdcpClient): Promise<void> {
  if ((await client.wellKnown()).otelrdcp_endpoints === undefined) {
    throw new Error('this service has no dry run, so nothing was sent');
  }
}

function show(terminal: Terminal, values: Values, answer: ControlResponse): void {
  const now = terminal.now();
  const { otelrdcp_fleet: fleet } = answer;
  present(terminal, values, answer, (wide) => {
    terminal.show(changesTable(terminal, answer, { wide, now }));
    for (const line of endings(answer, now)) terminal.show(terminal.paint(line, 'bold'));
    const whom = affected(answer);
    if (whom !== undefined) terminal.show(escapeUnprintable(whom));
    if (fleet === undefined) return;
    const missing = fleet.pending.length === 0 ? '' : `; still pending: ${fleet.pending.join(', ')}`;
    terminal.out(`\napplied by ${fleet.applied} of ${fleet.instances} processes${escapeUnprintable(missing)}`);
  });
  if (answer.otelrdcp_dryRun === true) terminal.note('Dry run: nothing was changed.');
}

function changesTable(
  terminal: Terminal,
  { changes }: ControlResponse,
  { wide, now }: { readonly wide: boolean; readonly now: number },
): string {
  const rows = changes.map(({ category, previousState, newState, expiresAt }) => [
    category,
    state(previousState),
    state(newState),
    expiresAt === undefined ? '-' : remaining(expiresAt, now),
    ...(wide ? [expiresAt ?? '-'] : []),
  ]);
  return table(terminal, ['CATEGORY', 'WAS', 'NOW', 'FOR', ...(wide ? ['UNTIL'] : [])], rows);
}

/** Whom the changes affect, where they were asked for one tenant. */
function affected({ tenant }: ControlResponse): string | undefined {
  if (tenant === undefined || tenant.id === EVERYBODY) return undefined;
  if (tenant.scope === 'tenant-isolated') return `for tenant ${tenant.id} alone`;
  return `for everybody, not for tenant ${tenant.id} alone: this service has one state for all tenants`;
}

/** When changes end, such as `DATABASE on for 15m, until 14:05:12`. */
function endings({ changes, otelrdcp_dryRun: dryRun }: ControlResponse, now: number): string[] {
  const names = new Map<string, string[]>();
  for (const { category, newState, effectiveAt, expiresAt } of changes) {
    if (expiresAt === undefined) continue;
    const time = `for ${between(effectiveAt, expiresAt)}, until ${clockTime(expiresAt, now)}`;
    const ending = `${dryRun === true ? 'would be ' : ''}${newState ? 'on' : 'off'} ${time}`;
    names.set(ending, [...(names.get(ending) ?? []), category]);
  }
  return [...names].map(([ending, categories]) => `${some(categories)} ${ending}`);
}
