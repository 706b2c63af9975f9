import { isCounted, partOfFleet } from '../../../wire/counted-calls.ts';
import type { BudgetState, DiscoveredCategory, DiscoveryResponse, RecorderReach } from '../../../wire/messages.ts';
import type { ForecastResponse } from '../../../wire/streams.ts';
import { type CategoryState, categoriesOf, isOn, isRecorded, stateOf, statesOf } from '../../../wire/words/state.ts';
import type { RdcpClient } from '../../client/client.ts';
import { type Command, EXIT, type Terminal } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { noteGaps, whileMeasuring } from '../forecast-table.ts';
import { assertKnown, isSelected, parseSelection, type Selection } from '../names.ts';
import { present } from '../options.ts';
import { fleetOf } from '../process-names.ts';
import { type Column, state } from '../table.ts';

const MEASURED_FOR = '2s';
/** Lines of a terminal beside the categories: the header, the note and the prompt. */
const OTHER_ROWS = 3;

export const list: Command = ofServices({
  summary: 'list the debug categories of the service and their state, those that are on first',
  operands: '[name...]',
  completes: 'categories',
  options: {
    on: { help: 'only what is on, for everybody, a tenant or some work' },
    measure: { help: `measure CALLS/S for ${MEASURED_FOR}, of what is off too: what it would write` },
    all: { help: 'include categories of Node.js and of libraries that are off, and what the screen has no room for' },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    "Lists the application's categories, and all that are on; with names or patterns those alone. CALLS/S is that of the last",
    'minute; what is off is not measured. -o wide adds why a category has its state, its default, its budget, what was',
    'dropped, and how far back the recorder reaches. PROCESSES counts those that have a category, if not all processes have it.',
  ],
  examples: ['rdcp list', "rdcp list 'DB_*' --measure", 'rdcp list --on', 'rdcp list -o wide --tenant acme'],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const client = await connectToRead(terminal, values);
    const discovered = await client.discovery();
    const isNarrowed = operands.length > 0 || values.on === true;
    const answer = isNarrowed ? narrowed(discovered, selection, values.on === true) : discovered;
    const isWhole = values.all === true || operands.length > 0;
    const measured =
      values.measure === true ? await measure(terminal, client, listedOf(answer.categories, isWhole)) : undefined;
    const fleet = await fleetOf(terminal, client, discovered);
    present(terminal, values, measured === undefined ? answer : { ...answer, measured }, (wide) => {
      const listed = listedOf(answer.categories, isWhole);
      const groups = listed
        .toSorted((a, b) => rankOf(b) - rankOf(a))
        .map((category) =>
          statesOf(category, terminal.now()).map((shown, at): Row => ({ ...category, shown, isFirst: at === 0 })),
        );
      const fitting = values.all === true ? groups : startOf(groups, terminal);
      terminal.table(fitting.flat(), columns(listed, { wide, measured }), { cutsLast: !wide, fleet });
      const folded = answer.categories.length - listed.length;
      const hidden = groups.length - fitting.length;
      if (hidden > 0) terminal.note(`${hidden} more: rdcp list --all`);
      else if (folded > 0) terminal.note(`${folded} more of Node.js and libraries: rdcp list --all`);
      const counted = partOfFleet(answer.otelrdcp_instances);
      const why = answer.otelrdcp_instances?.silent ? "see 'rdcp fleet'" : 'the others do not announce theirs';
      if (counted !== undefined) terminal.note(`CALLS ${counted}: ${why}`);
      if (measured !== undefined) noteGaps(terminal, measured);
      if (wide) noteReach(terminal, answer.otelrdcp_recorder);
    });
    return measured !== undefined && measured.instances.answered < measured.instances.asked ? EXIT.partial : EXIT.done;
  },
});

function narrowed(answer: DiscoveryResponse, selection: Selection, on: boolean): DiscoveryResponse {
  const { categories } = answer;
  const names = categories.map(({ name }) => name);
  assertKnown(selection, names);
  const isWanted = (category: DiscoveredCategory) => isSelected(selection, category.name) && (!on || isOn(category));
  return { ...answer, categories: categories.filter(isWanted) };
}

/** The application's first; unless all are wanted or there are no others, without those of Node.js and libraries that are off. */
function listedOf(categories: readonly DiscoveredCategory[], all: boolean): DiscoveredCategory[] {
  const own = categories.filter(isOwn);
  const others = categories.filter((category) => !isOwn(category));
  return [...own, ...(all || own.length === 0 ? others : others.filter(isSwitched))];
}

function isOwn({ otelrdcp_source: source }: DiscoveredCategory): boolean {
  return (
    source === undefined || (source.kind !== 'channel' && source.name !== 'otel:diag' && source.package === undefined)
  );
}

function rankOf(category: DiscoveredCategory): number {
  return isOn(category) ? 2 : isRecorded(category) ? 1 : 0;
}

async function measure(terminal: Terminal, client: RdcpClient, categories: readonly DiscoveredCategory[]) {
  if (categories.length === 0) return undefined;
  const names = categories.map(({ name }) => name);
  return whileMeasuring(terminal, MEASURED_FOR, () => client.forecast(names, { duration: MEASURED_FOR }));
}

/** As many categories as the screen has room for with all their rows, and at least one. */
function startOf(groups: readonly Row[][], { screen }: Terminal): readonly Row[][] {
  if (screen.isTTY !== true || !screen.rows) return groups;
  const room = Math.max(1, screen.rows - OTHER_ROWS);
  let taken = 0;
  const end = groups.findIndex((rows) => {
    taken += rows.length;
    return taken > room;
  });
  return end === -1 ? groups : groups.slice(0, Math.max(1, end));
}

/** Whether it is on, also by itself, or was switched off. */
function isSwitched(category: DiscoveredCategory): boolean {
  const { temporary, otelrdcp_origin, otelrdcp_settings, otelrdcp_source } = category;
  const isSet = (otelrdcp_origin ?? 'default') !== 'default' || otelrdcp_settings !== undefined;
  return isOn(category) || temporary || isSet || otelrdcp_source?.onByItself !== undefined;
}

/** A category has a row for each of its states; the first one has the figures. */
type Row = DiscoveredCategory & { readonly shown: CategoryState; readonly isFirst: boolean };

function columns(
  categories: readonly DiscoveredCategory[],
  { wide, measured }: { readonly wide: boolean; readonly measured: ForecastResponse | undefined },
): Column<Row>[] {
  const has = (name: keyof DiscoveredCategory) => categories.some((category) => category[name] !== undefined);
  // A budget is shown where it ends something, or has dropped calls.
  const isLimited = ({ otelrdcp_budget: budget, otelrdcp_dropped: dropped = 0 }: DiscoveredCategory) =>
    dropped > 0 || (budget !== false && (budget?.callsLeft ?? budget?.bytesLeft) !== undefined);
  const limited = wide || categories.some(isLimited);
  const figures: Column<Row>[] = [
    ['CALLS', calls],
    ['CALLS/S', (category) => rate(category, measured)],
    has('otelrdcp_instances') && [
      'PROCESSES',
      ({ otelrdcp_instances: one }) => (one ? `${one.having} of ${one.of}` : '-'),
    ],
    limited && ['BUDGET', (category) => budget(category, wide)],
    limited && ['DROPPED', ({ otelrdcp_dropped: dropped }) => String(dropped ?? '-')],
    wide && has('otelrdcp_unevaluated') && ['NOT EVALUATED', ({ otelrdcp_unevaluated: lines }) => String(lines ?? '-')],
    wide && ['DECIDED BY', ({ otelrdcp_origin: origin }) => origin ?? '-'],
    wide && ['DEFAULT', ({ otelrdcp_default: enabled }) => (enabled === undefined ? '-' : stateOf({ enabled }))],
    wide && has('otelrdcp_source') && ['SOURCE', source],
    ['DESCRIPTION', ({ description }) => description],
  ];
  return [
    ['CATEGORY', ({ name }) => name],
    ['STATE', ({ shown }) => state(shown.state)],
    ['FOR', ({ shown }) => shown.whom],
    ...figures.map((column): Column<Row> => column && [column[0], (row) => (row.isFirst ? column[1](row) : '')]),
  ];
}

/** Those while it was on; `-` if it was not: a category that is off has no calls, whatever it would write. */
function calls(category: DiscoveredCategory): string {
  const { callsTotal } = category.metrics;
  return isCounted(category) || callsTotal > 0 ? String(callsTotal) : '-';
}

/** `-` where it was not measured. */
function rate(category: DiscoveredCategory, measured: ForecastResponse | undefined): string {
  const { callsPerSecond } = measured?.categories[category.name] ?? {};
  if (callsPerSecond !== undefined) return callsPerSecond.value.toFixed(1);
  return isCounted(category) ? category.metrics.callsPerSecond.toFixed(1) : '-';
}

function budget(
  { otelrdcp_budget: inForce, otelrdcp_configuredBudget: configured }: DiscoveredCategory,
  wide: boolean,
): string {
  // While a category is off, its configured budget is what would apply.
  const given: BudgetState | false | undefined = inForce ?? (wide ? configured : undefined);
  if (given === undefined) return '-';
  if (given === false) return 'none';
  const { callsPerSecond, callsLeft, bytesLeft } = given;
  const parts = [
    callsPerSecond !== undefined && `${callsPerSecond}/s`,
    callsLeft !== undefined && `${callsLeft} calls left`,
    bytesLeft !== undefined && `${bytesLeft} bytes left`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** The library that made the statements, such as `pino db 10.4.0`, and how many loggers share the category. */
function source({ otelrdcp_source: from, otelrdcp_origin: origin }: DiscoveredCategory): string {
  if (from === undefined) return '-';
  const { kind, name, version, count, onByItself } = from;
  const isByItself = onByItself !== undefined && origin === 'default';
  const own = isByItself ? `, on by itself in ${onByItself} of ${count} ${count === 1 ? 'source' : 'sources'}` : '';
  return `${kind} ${name}${version === undefined ? '' : ` ${version}`}${count > 1 ? ` (${count})` : ''}${own}`;
}

export const status: Command = ofServices({
  summary: 'show which categories are on',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp status -o json'],
  run: async (terminal, values) => {
    const client = await connectToRead(terminal, values);
    const answer = await client.status();
    const fleet = await fleetOf(terminal, client, answer);
    present(terminal, values, answer, () => {
      const { otelrdcp_settings: settings, otelrdcp_activations: activations, otelrdcp_levels: levels } = answer;
      const states = categoriesOf(answer).flatMap((category) =>
        statesOf(category, terminal.now()).map((each) => ({ ...each, name: category.name })),
      );
      const columns: Column<(typeof states)[number]>[] = [
        ['CATEGORY', ({ name }) => name],
        ['STATE', (each) => state(each.state)],
        (settings ?? activations ?? levels) !== undefined && ['FOR', ({ whom }) => whom],
      ];
      terminal.table(states, columns, { fleet });
      const { totalCalls, callsPerSecond } = answer.performance;
      const part = partOfFleet(answer.otelrdcp_instances);
      const whose = part === undefined ? '' : ` ${part}`;
      terminal.out('');
      terminal.say(`${totalCalls} debug calls counted so far${whose}, ${callsPerSecond.toFixed(1)} per second now`);
      noteReach(terminal, answer.otelrdcp_recorder);
      if (!answer.enabled) terminal.note('rdcp: the instrumentation is disabled in this service');
    });
  },
});

/** Says how far back the recorder of the responding process reaches, where the answer does. */
function noteReach(terminal: Pick<Terminal, 'note'>, reach: RecorderReach | undefined): void {
  if (reach === undefined || reach.works === 0) return;
  const { reachesBack = '0s', works, bytes } = reach;
  const pieces = works === 1 ? '1 piece' : `${works} pieces`;
  terminal.note(`recorder: reaches back ${reachesBack} (${pieces} of work, ${bytes} bytes)`);
}
