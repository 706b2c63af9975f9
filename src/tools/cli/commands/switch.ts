import { type ControlAction, EVERYBODY, LEVELS, type Level } from '../../../wire/constants.ts';
import {
  type ControlCommand,
  type ControlOptions,
  LETTING_LEVELS,
  QUIET_LEVELS,
} from '../../../wire/control-options.ts';
import { given } from '../../../wire/json-text.ts';
import type { ControlResponse, DiscoveredCategory } from '../../../wire/messages.ts';
import { escapeUnprintable, nameSome } from '../../../wire/printable.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import type { Timestamp } from '../../../wire/time.ts';
import { partText } from '../../../wire/words/activation.ts';
import { appliedText, byText, madeText, NOT_SHARED, staysOff, tenantsText } from '../../../wire/words/change.ts';
import { isOn, statesOf } from '../../../wire/words/state.ts';
import { between } from '../../../wire/words/time.ts';
import type { RdcpClient } from '../../client/client.ts';
import { controlOptionsOf } from '../../client/fields.ts';
import {
  type Command,
  EXIT,
  type Option,
  type Terminal,
  text,
  UsageError,
  type Values,
  WHICH_CATEGORY,
} from '../command.ts';
import { accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { forecastTable, noteGaps, USUAL_TIME, whileMeasuring } from '../forecast-table.ts';
import { localClock } from '../local-time.ts';
import { namesOf, noteUnknownTenant, parseSelection, type Selection, suggesting } from '../names.ts';
import { duration, oneOf, present } from '../options.ts';
import { processNames } from '../process-names.ts';
import {
  LIMIT_OPTIONS,
  limitsOf,
  OUTCOME_OPTIONS,
  selectionOf as partOf,
  SELECTION_OPTIONS,
} from '../selection-options.ts';

/** Default duration of what switches on, so that no category stays on by mistake. */
const LEASE = '15m';
/** Of `record`, which writes nothing. */
const RECORDING_LEASE = '1d';
const LEASES: Readonly<Partial<Record<Verb, string>>> = {
  enable: LEASE,
  toggle: LEASE,
  quieten: LEASE,
  record: RECORDING_LEASE,
};

const LASTING = {
  for: { value: '5m', help: `duration, after which the change ends (default: ${LEASE})` },
  permanent: { help: 'until it is switched again' },
} as const satisfies Record<string, Option>;
const BUDGET = {
  ...LIMIT_OPTIONS,
  unlimited: { help: 'no limit on calls (needs admin)' },
} as const satisfies Record<string, Option>;
const LEVEL = {
  level: { value: 'info', help: 'only lines from this level up, of loggers with levels: silly, trace, debug or info' },
} as const satisfies Record<string, Option>;
const ALL: Option = { help: 'every category' };
const COMMON = {
  reason: { value: 'TEXT', help: 'reason, for the audit trail' },
  'dry-run': { help: 'only show what would change' },
  yes: { short: 'y', help: 'do not ask' },
} as const satisfies Record<string, Option>;

const NAMES = "Lower case is accepted; a pattern such as 'DB_*' is asked about first.";

export const enable = switching('enable', {
  summary: `switch categories on, for ${LEASE} unless another time is given`,
  options: {
    ...LASTING,
    ...BUDGET,
    ...SELECTION_OPTIONS,
    ...OUTCOME_OPTIONS,
    ...LEVEL,
    forecast: { help: 'measure for 10s what it would emit, show the figures, and ask on a terminal' },
    print: { help: 'switch nothing: print a signed document, for jobs and functions that follow one (pull)' },
  },
  examples: [
    "rdcp enable DATABASE --for 5m --reason 'slow checkout'",
    'rdcp enable DATABASE -m user.id=42',
    'rdcp enable DATABASE --one',
    'rdcp enable DATABASE --on-error --for 24h',
    'rdcp enable DATABASE --level info',
    "rdcp enable 'DB_*' --rate 20 --calls 5000",
    'rdcp enable IMPORT --for 1h --print > controls.jwt',
  ],
});
export const record = switching('record', {
  summary: 'keep the calls of categories in memory, and write none: for tail --since and failures',
  options: {
    for: { value: '7d', help: `duration, after which it ends (default: ${RECORDING_LEASE})` },
    permanent: { help: 'until it is ended (needs admin)' },
    ...SELECTION_OPTIONS,
    ...LEVEL,
  },
  notes: ["It ends with 'rdcp end' or 'rdcp disable'. What recorder.categories of the service records has no end."],
  examples: ["rdcp record ORDERS 'DB_*' --for 7d", 'rdcp record ORDERS -m user.id=42', 'rdcp end ORDERS'],
});
export const disable = switching('disable', {
  summary: 'switch categories off',
  options: { for: { value: '5m', help: 'duration, after which the change ends (default: permanent)' } },
  notes: [
    "To undo an enable, use 'rdcp end'. disable makes a setting of its own, which stays until it is reset; with --tenant",
    'the category then stays off for that tenant when it is switched on for everybody.',
  ],
  examples: ['rdcp disable DATABASE', "rdcp disable 'DB_*' --for 1h --yes"],
});
export const quieten = switching('quieten', {
  summary: `hold back lines of loggers that write too much, for ${LEASE} unless another time is given`,
  options: {
    above: { value: 'warn', help: 'the least urgent level that still comes out: warn or error (default: warn)' },
    for: { value: '1h', help: `duration, after which the loggers write as before (default: ${LEASE})` },
  },
  notes: [
    'Errors always come out. It is for loggers with levels (pino, winston, Nest, OpenTelemetry scopes, those given to adopt()),',
    "is never permanent, and ends with 'rdcp end'. To hold back what is below info: 'rdcp disable'.",
  ],
  examples: ["rdcp quieten NOISY --above warn --for 1h --reason 'fills the disk'", 'rdcp end NOISY'],
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
export const end = switching('end', {
  summary: 'end what was switched for a while; permanent settings stay',
  options: { all: ALL, id: { value: 'ID', help: 'only the activation with this id' } },
  examples: [
    'rdcp end DATABASE',
    'rdcp end DATABASE --tenant acme',
    'rdcp end --id 1f0c2e9ab34d',
    "rdcp end --all --reason 'incident over'",
  ],
});

/** `end` is a reset of temporary settings alone; `quieten` an enable with a level that takes lines away; `record` one that writes none. */
type Verb = Exclude<ControlAction, 'status'> | 'end' | 'quieten' | 'record';

const ACTIONS: Readonly<Partial<Record<Verb, ControlAction>>> = { end: 'reset', quieten: 'enable', record: 'enable' };

function switching(
  verb: Verb,
  { summary, options, notes = [], examples }: Pick<Command, 'summary' | 'options' | 'notes' | 'examples'>,
): Command {
  const command: Command = {
    summary,
    operands: 'all' in options ? '[name...]' : '<name...>',
    completes: 'categories',
    options: { ...options, ...COMMON, ...CONNECTION_OPTIONS },
    notes: [...notes, NAMES],
    examples,
    run: async (terminal, values, operands) => {
      const selection = selectionOf(values, operands);
      const settings = settingsOf(verb, values);
      const access = accessOf(terminal, values);
      const client = clientOf(terminal, access);
      if (values.print === true) return printed(terminal, values, client, selection, settings);
      const categories = await confirmed(terminal, values, client, { verb, selection, settings });
      if (categories === undefined) {
        terminal.note('Nothing was changed.');
        return EXIT.refused;
      }
      if (settings.otelrdcp_dryRun === true) await assertKnowsOptions(client, 'has no dry run');
      if (verb === 'record') await assertKnowsOptions(client, 'records nothing');
      const command: ControlCommand = {
        action: ACTIONS[verb] ?? (verb as ControlAction),
        ...(categories !== 'all' && { categories }),
        ...(Object.keys(settings).length > 0 && { options: settings }),
      };
      const answer = await suggesting(client, () => client.control(command));
      const pending = await processNames(client, answer.otelrdcp_fleet?.pending ?? [], terminal.now());
      const chosen = await processNames(client, answer.otelrdcp_chosen ?? [], terminal.now());
      show(terminal, values, answer, { verb, pending, chosen });
      if (answer.action === 'enable') await noteWithoutLevels(terminal, client, answer, settings.otelrdcp_level);
      else await noteStillOn(terminal, client, { verb, categories }, answer);
      if (answer.otelrdcp_tenantKnown === false) await noteUnknownTenant(terminal, access);
      if (answer.status === 'failed') return EXIT.refused;
      if (answer.status !== 'partial') return EXIT.done;
      terminal.note(`rdcp: partially applied: ${escapeUnprintable(answer.message)}`);
      return EXIT.partial;
    },
  };
  // Of two services that share a store, the second would undo what the first has toggled.
  return verb === 'toggle' ? command : ofServices(command);
}

/** Prints the document alone, so that it can go into a file; what it does goes to stderr. */
async function printed(
  terminal: Terminal,
  values: Values,
  client: RdcpClient,
  { names = [], patterns = [] }: Partial<Selection> = {},
  settings: ControlOptions,
): Promise<number> {
  const other = ['permanent', 'forecast', 'dry-run'].find((name) => values[name] === true);
  if (other !== undefined) throw new UsageError(`--print cannot be combined with --${other}`);
  // The processes that follow it may have other categories than the service that signs.
  if (patterns.length > 0) throw new UsageError(`--print needs names, not a pattern (${patterns.join(', ')})`);
  await assertKnowsOptions(client, 'signs no documents');
  const options = { ...settings, otelrdcp_sign: true as const };
  const answer = await client.control({ action: 'enable', categories: names, options });
  const { otelrdcp_document: document } = answer;
  if (document === undefined) throw new Error('this service signed no document');
  present(terminal, values, answer, () => terminal.out(document.value));
  const time = `for ${settings.duration}, until ${localClock(document.expiresAt, terminal.now())}`;
  terminal.note(`Signed document ${document.id}: ${nameSome(names)} on ${time}, where it is followed.`);
  return EXIT.done;
}

/** `undefined` for every category. */
function selectionOf(values: Values, words: readonly string[]): Selection | undefined {
  if (values.all !== true && values.id === undefined) {
    if (words.length === 0) throw new UsageError(WHICH_CATEGORY);
    return parseSelection(words);
  }
  if (words.length > 0) {
    throw new UsageError(`--${values.all === true ? 'all' : 'id'} cannot be combined with category names`);
  }
  if (values.all === true && values.id !== undefined) throw new UsageError('--all cannot be combined with --id');
  return undefined;
}

function settingsOf(verb: Verb, values: Values): ControlOptions {
  const records = verb === 'record';
  const isPermanent = values.permanent === true;
  if (isPermanent) assertMayLast(values, records);
  const lasting = duration(values, 'for') ?? (isPermanent ? undefined : LEASES[verb]);
  const budget = budgetOf(values);
  const id = text(values, 'id');
  const level =
    verb === 'quieten' ? (oneOf(QUIET_LEVELS, values, 'above') ?? 'warn') : oneOf(LETTING_LEVELS, values, 'level');
  return {
    ...(lasting !== undefined && { temporary: true, duration: lasting }),
    ...controlOptionsOf(partOf(values)),
    ...given({ reason: text(values, 'reason'), otelrdcp_budget: budget, otelrdcp_level: level, otelrdcp_id: id }),
    ...(records && { otelrdcp_record: true, ...(isPermanent && { otelrdcp_permanent: true }) }),
    ...(verb === 'end' && id === undefined && { otelrdcp_only: 'temporary' }),
    ...(values['dry-run'] === true && { otelrdcp_dryRun: true }),
  };
}

/** @throws {UsageError} for what needs an end. A recording may be of a part of the work, because it writes nothing. */
function assertMayLast(values: Values, records: boolean): void {
  const isGiven = (names: readonly string[]) => names.some((name) => values[name] !== undefined);
  if (isGiven(['for', ...Object.keys(BUDGET)])) {
    throw new UsageError('--permanent cannot be combined with --for, --rate, --calls, --bytes or --unlimited');
  }
  if (!records && isGiven(Object.keys({ ...SELECTION_OPTIONS, ...OUTCOME_OPTIONS }))) {
    throw new UsageError('--permanent cannot be combined with what selects work, lines or processes');
  }
}

function budgetOf(values: Values): ControlOptions['otelrdcp_budget'] {
  const limits = limitsOf(values);
  if (values.unlimited !== true) return limits;
  if (limits !== undefined) throw new UsageError('--unlimited cannot be combined with --rate, --calls or --bytes');
  return false;
}

interface Intent {
  readonly verb: Verb;
  readonly selection: Selection | undefined;
  readonly settings: ControlOptions;
}

/** The names to send, or `all`; `undefined` when the person does not want that, having seen what a pattern stands for or what it costs. */
async function confirmed(
  terminal: Terminal,
  values: Values,
  client: RdcpClient,
  { verb, selection, settings }: Intent,
): Promise<readonly string[] | 'all' | undefined> {
  if (settings.otelrdcp_id !== undefined) return 'all';
  const asking = values.yes !== true && settings.otelrdcp_dryRun !== true;
  const patterns = selection?.patterns ?? ['--all'];
  if (asking && patterns.length > 0 && !terminal.interactive) {
    const what = selection === undefined ? '--all' : `a pattern (${patterns.join(', ')})`;
    throw new UsageError(`${what} needs --yes without a terminal`);
  }
  if (selection === undefined) {
    return !asking || (await agrees(terminal, `${verb} every category?`)) ? 'all' : undefined;
  }
  const names = await namesOf(terminal, client, selection);
  if (values.forecast === true) {
    const plain = { paint: (text: string) => terminal.paint(text, undefined), screen: terminal.screen };
    const expected = await whileMeasuring(terminal, USUAL_TIME, () =>
      suggesting(client, () => client.forecast(names, partOf(values))),
    );
    terminal.note(`${forecastTable(plain, expected)}\n`);
    noteGaps(terminal, expected);
  }
  if (!asking || !terminal.interactive || (patterns.length === 0 && values.forecast !== true)) return names;
  const time = settings.duration === undefined ? '' : ` for ${settings.duration}`;
  const what = names.length === 1 ? 'this category' : `these ${names.length} categories`;
  return (await agrees(terminal, `${verb} ${what}${time}?`)) ? names : undefined;
}

async function agrees(terminal: Terminal, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await terminal.ask(`${question} [y/N] `)).trim());
}

/** Another implementation of the protocol may ignore an option of ours, and make the change. */
async function assertKnowsOptions(client: RdcpClient, otherwise: string): Promise<void> {
  if ((await client.wellKnown()).otelrdcp_endpoints === undefined) {
    throw new Error(`this service ${otherwise}, so nothing was sent`);
  }
}

function show(
  terminal: Terminal,
  values: Values,
  answer: ControlResponse,
  { verb, pending, chosen }: Pick<Intent, 'verb'> & Record<'pending' | 'chosen', readonly string[]>,
): void {
  const { otelrdcp_fleet: fleet, otelrdcp_dryRun: dryRun } = answer;
  present(terminal, values, answer, (wide) => {
    for (const line of linesOf(terminal, answer, { verb, wide })) terminal.say(line, 'bold');
    if (chosen.length > 0) terminal.say(`chosen: ${nameSome(chosen)}`);
    const tenants = tenantsText(answer);
    if (tenants !== undefined) terminal.say(tenants);
    const stays = dryRun === true ? undefined : staysOff(answer);
    if (stays !== undefined) {
      const reset = shellWords('rdcp', 'reset', ...stays.categories, '--tenant', answer.tenant?.id ?? '');
      terminal.say(`${stays.text}: ${reset}`, 'bold');
    }
    if (answer.otelrdcp_shared === false && dryRun !== true) terminal.say(NOT_SHARED);
    if (fleet === undefined || (fleet.instances === 1 && pending.length === 0)) return;
    terminal.say(appliedText(fleet, pending));
  });
  if (dryRun === true) terminal.note('Dry run: nothing was changed.');
}

const LEVELED: ReadonlySet<string | undefined> = new Set(['pino', 'winston', 'nest', 'otel', 'custom']);

async function knownTo(client: RdcpClient): Promise<readonly DiscoveredCategory[]> {
  return (await client.discovery().catch(() => undefined))?.categories ?? [];
}

/** Names the categories for which a level means all or nothing: they have debug lines alone. */
async function noteWithoutLevels(
  terminal: Terminal,
  client: RdcpClient,
  { categories }: ControlResponse,
  level: Level | undefined,
): Promise<void> {
  if (level === undefined) return;
  const flat = (await knownTo(client)).filter(
    ({ name, otelrdcp_source }) => categories.includes(name) && !LEVELED.has(otelrdcp_source?.kind),
  );
  if (flat.length === 0) return;
  const which = LEVELS.indexOf(level) > LEVELS.indexOf('debug') ? 'none' : 'all';
  const names = nameSome(flat.map(({ name }) => name));
  terminal.note(`${names}: no levels, but debug lines alone; ${which} of them come out at ${level}.`);
}

async function noteStillOn(
  terminal: Terminal,
  client: RdcpClient,
  { verb, categories }: { readonly verb: Verb; readonly categories: readonly string[] | 'all' },
  { tenant, changes, otelrdcp_dryRun: dryRun }: ControlResponse,
): Promise<void> {
  if (dryRun === true) return;
  const stillOn = changes.filter(({ newState }) => newState).map(({ category }) => category);
  if (verb === 'end' && stillOn.length > 0) {
    const of = tenant?.scope === 'tenant-isolated' ? ['--tenant', tenant.id] : [];
    const off = shellWords('rdcp', 'disable', ...stillOn, ...of);
    terminal.note(`Still on, by a permanent setting or by default: ${nameSome(stillOn)}; to switch off: ${off}`);
  }
  if (tenant?.id !== EVERYBODY) return;
  const isAsked = (name: string) => categories === 'all' || categories.includes(name);
  const left = (await knownTo(client)).filter(({ name }) => isAsked(name) && !stillOn.includes(name));
  for (const category of left.filter(isOn)) {
    const { name } = category;
    terminal.note(
      `${name} is still on for ${statesOf(category, terminal.now())[0].whom}: ${shellWords('rdcp', verb, name, '--tenant', 'ID')}`,
    );
  }
}

/** What was changed, and until when, such as `DATABASE on for 15m, until 14:05:12+01`; with -o wide, every name. */
function linesOf(
  { now }: Terminal,
  answer: ControlResponse,
  { verb, wide }: Pick<Intent, 'verb'> & { readonly wide: boolean },
): string[] {
  const { action, message, categories, timestamp, otelrdcp_activation: activation, otelrdcp_dryRun: dryRun } = answer;
  const would = dryRun === true ? 'would be ' : '';
  const timeText = (from: Timestamp, until: Timestamp | undefined) =>
    until === undefined ? 'without an end' : `for ${between(from, until)}, until ${localClock(until, now())}`;
  if (activation !== undefined && action === 'enable') {
    const { id, expiresAt, record } = activation;
    const part = partText(activation);
    const state = `${record ? 'recorded' : 'on'}${part === '' ? '' : ` for ${part},`}`;
    const line = `${nameSome(categories)} ${would}${state} ${timeText(timestamp, expiresAt)}`;
    return [dryRun === true ? line : `${line} (${shellWords('rdcp', 'end', '--id', id)})`];
  }
  // Activations leave no record of a change: the service says how many it ended.
  const [ended] = (action !== 'enable' && /\d+ activations? ended/.exec(message)) || [];
  // What stays on is said below, with how to switch it off.
  const changes = answer.changes.filter(({ previousState: before, newState }) =>
    before && newState
      ? verb !== 'end' || dryRun === true
      : before || newState || action === 'disable' || ended === undefined,
  );
  const made = byText(
    changes,
    (change) => {
      const { previousState: before, newState, effectiveAt, expiresAt } = change;
      const isTimed = expiresAt !== undefined || (newState && action !== 'reset');
      const already = before === newState ? `already ${before ? 'on' : 'off'}` : '';
      const made = isTimed ? `${madeText(change)} ${timeText(effectiveAt, expiresAt)}` : already || madeText(change);
      return `${would}${made}${isTimed && already !== '' ? ` (${already})` : ''}`;
    },
    wide ? changes.length : undefined,
  );
  if (ended !== undefined) return [...made, made.length === 0 ? `${nameSome(categories)}: ${ended}` : ended];
  return answer.changes.length === 0 && action !== 'enable' ? [message] : made;
}
