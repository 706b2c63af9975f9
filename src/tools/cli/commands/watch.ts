import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { AuditEntry } from '../../../wire/audit-messages.ts';
import { isCounted, partOfFleet } from '../../../wire/counted-calls.ts';
import { isRdcpError, type RdcpError } from '../../../wire/errors.ts';
import type { CountedInstances, DiscoveredCategory } from '../../../wire/messages.ts';
import { timestamp } from '../../../wire/time.ts';
import { whoText } from '../../../wire/words/change.ts';
import { isOn, isRecorded, statesOf } from '../../../wire/words/state.ts';
import { type Categories, categoriesAfter } from '../../client/categories-after.ts';
import type { RdcpClient } from '../../client/client.ts';
import { askedForMs, isPassing } from '../../client/passing.ts';
import { type Command, EXIT, type Terminal } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { ofServicesUntilInterrupted } from '../each-service.ts';
import { localClock } from '../local-time.ts';
import { assertKnown, isSelected, parseSelection, withNearest } from '../names.ts';
import { formatOf } from '../options.ts';
import { type Cell, folded, state, table, widthOf } from '../table.ts';

export const watch: Command = ofServicesUntilInterrupted({
  summary: 'watch categories: state, time left, rate and who switched them, until Ctrl-C',
  operands: '[name...]',
  completes: 'categories',
  options: CONNECTION_OPTIONS,
  notes: [
    'On a terminal it shows a table of what is on and what was switched meanwhile, or of the names that are given, redrawn each',
    'second; elsewhere one line for each change, as JSON with -o json. Of several services it shows lines on a terminal too,',
    'each with its service. A credential with the scope admin also shows who switched a category.',
  ],
  examples: ['rdcp watch', "rdcp watch 'DB_*'", 'rdcp watch -o json | jq .'],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const client = await connectToRead(terminal, values);
    const interrupted = terminal.interruption();
    const view =
      formatOf(values) === 'json'
        ? lines(terminal, ({ category }) => terminal.json(category))
        : terminal.repaints
          ? painting(terminal, operands.length > 0)
          : lines(terminal, (change) => terminal.say(sentence(change, terminal.now())));
    if (terminal.interactive && !terminal.repaints)
      terminal.note('Watching: one line for each change; Ctrl-C ends it.');
    const actors = actorsOf(client);
    const states = categoryStates(client, { signal: interrupted, lost: (error) => view.lost(error) });
    let known = false;
    try {
      for await (const { categories: all, instances, unmeasured } of states) {
        // Once: a service that has restarted may register them later.
        const names = all.map(({ name }) => name);
        if (!known) assertKnown(selection, names);
        known = true;
        const categories = all.filter(({ name }) => isSelected(selection, name));
        view.show(categories, { who: await actors(categories), counted: partOfFleet(instances), unmeasured });
      }
      return EXIT.done;
    } catch (error) {
      if (!interrupted.aborted) throw await withNearest(client, error);
      return EXIT.done;
    }
  },
});

/** The identity that switched each category, from the trail, which is read again after each change. */
function actorsOf(client: RdcpClient) {
  let known: ReadonlyMap<string, string> = new Map();
  let seen = '';
  let isAllowed = true;
  return async (categories: readonly DiscoveredCategory[]): Promise<ReadonlyMap<string, string>> => {
    const marks = categories.map(mark).join();
    if (!isAllowed || marks === seen) return known;
    seen = marks;
    try {
      known = whoSwitched((await client.audit({ limit: 200 })).entries);
    } catch (error) {
      if (!isRdcpError(error)) throw error;
      isAllowed = error.code !== 'RDCP_FORBIDDEN' && error.code !== 'RDCP_NOT_FOUND';
    }
    return known;
  };
}

function whoSwitched(entries: readonly AuditEntry[]): ReadonlyMap<string, string> {
  const who = new Map<string, string>();
  for (const { categories, changes, identity, outcome, otelrdcp_activation: activation } of entries) {
    if (outcome !== 'success' && outcome !== 'partial') continue;
    // An activation leaves no record of a change.
    for (const category of activation === undefined ? changes.map((change) => change.category) : categories) {
      if (!who.has(category)) who.set(category, whoText(identity) ?? '');
    }
  }
  return who;
}

interface View {
  show(
    categories: readonly DiscoveredCategory[],
    seen: Pick<CategoryStates, 'unmeasured'> & { who: ReadonlyMap<string, string>; counted: string | undefined },
  ): void;
  lost(error: RdcpError): void;
}

interface Change {
  readonly category: DiscoveredCategory;
  readonly who: string;
}

/** The same as long as a category stays as it is. */
function mark({ name, enabled, temporary, ...category }: DiscoveredCategory): string {
  const { otelrdcp_expiresAt, otelrdcp_settings, otelrdcp_activations, otelrdcp_recorded } = category;
  const others = [otelrdcp_expiresAt, otelrdcp_settings, otelrdcp_activations, otelrdcp_recorded];
  return JSON.stringify([name, enabled, temporary, ...others]);
}

function lines(terminal: Terminal, print: (change: Change) => void): View {
  let lost = false;
  let partly: string | undefined;
  let before: ReadonlyMap<string, string> | undefined;
  return {
    show: (categories, { who, counted }) => {
      if (lost) terminal.note('The service answers again.');
      lost = false;
      if (counted !== undefined && counted !== partly) terminal.note(`CALLS/S ${counted}.`);
      partly = counted;
      for (const category of categories) {
        const changed = before === undefined ? isOn(category) : before.get(category.name) !== mark(category);
        if (changed) print({ category, who: who.get(category.name) ?? '' });
      }
      before = new Map(categories.map((category) => [category.name, mark(category)]));
    },
    lost: ({ message }) => {
      if (!lost) terminal.note(`${message}; asking again until it answers.`);
      lost = true;
    },
  };
}

function sentence({ category, who }: Change, now: number): string {
  const states = statesOf(category, now).map(({ state, whom }) => {
    const everybodyOff = state === 'off' && !category.enabled;
    return whom === '-' || everybodyOff ? state : `${state} for ${whom}`;
  });
  const by = who === '' ? '' : ` by ${who}`;
  return `${localClock(timestamp(now), now)} ${category.name} ${states.join(' and ')}${by}`;
}

const HEADER = ['CATEGORY', 'STATE', 'FOR', 'CALLS/S', 'WHO'];

/** Paints over the lines before: what is on, or was switched since it watches. The others, and rows without room, are counted. */
function painting(terminal: Terminal, named: boolean): View {
  const { screen } = terminal;
  const first = new Map<string, string>();
  const moved = new Set<string>();
  let painted: readonly string[] = [];
  let last: readonly string[] = [];
  const paint = (rows: readonly string[]) => {
    // ECMA-48: cursor up, erase below.
    const over = painted.length === 0 ? '' : `\u001b[${height(painted, screen.columns)}A\r\u001b[J`;
    screen.write(`${over}${rows.map((row) => `${row}\n`).join('')}`);
    painted = rows;
  };
  return {
    show: (categories, { who, counted, unmeasured }) => {
      for (const category of categories) {
        const { name } = category;
        if (!first.has(name)) first.set(name, mark(category));
        else if (first.get(name) !== mark(category)) moved.add(name);
      }
      const room = Math.max(2, (screen.rows || 24) - 3 - Number(counted !== undefined));
      const isShown = (category: DiscoveredCategory) => named || isOn(category) || moved.has(category.name);
      const shown = categories.filter(isShown);
      const sorted = named ? shown : shown.sort((a, b) => Number(isOn(b)) - Number(isOn(a)));
      const by = (category: DiscoveredCategory) =>
        (isOn(category) || moved.has(category.name)) && who.get(category.name);
      const rate = (category: DiscoveredCategory) =>
        isCounted(category) && unmeasured?.has(category.name) !== true && category.metrics.callsPerSecond.toFixed(1);
      const rows = sorted
        .slice(0, room)
        .map((category) => rowsOf(category, [rate(category) || '-', by(category) || '-'], terminal.now()));
      const linesOf = (some: readonly Cell[][][]) => table(terminal, HEADER, some.flat()).split('\n');
      // On a narrow terminal a category takes several lines.
      while (rows.length > 1 && linesOf(rows).length > room) rows.pop();
      const left = [...sorted.slice(rows.length), ...categories.filter((category) => !isShown(category))];
      last = [
        ...(rows.length === 0 ? ['Nothing is on.'] : linesOf(rows)),
        ...(left.length > 0 ? [remainder(left)] : []),
        ...(counted === undefined ? [] : [`CALLS/S ${counted}`]),
      ];
      paint(last);
    },
    lost: ({ message }) => {
      const problem = folded(`${message}; asking again until it answers.`, screen.columns || 80);
      paint([...last, ...problem.map((line) => terminal.paint(line, 'red'))]);
    },
  };
}

/** Rows that painted lines take: a terminal that became narrower has folded them. */
function height(lines: readonly string[], columns: number | undefined): number {
  if (!columns) return lines.length;
  const rowsOf = (line: string) => Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / columns));
  return lines.reduce((sum, line) => sum + rowsOf(line), 0);
}

function remainder(left: readonly DiscoveredCategory[]): string {
  const on = left.filter(isOn).length;
  const recorded = left.filter(isRecorded).length;
  const others = recorded === 0 ? 'off' : recorded === left.length ? 'recorded' : `${recorded} of them recorded`;
  return `and ${left.length} more, ${on === 0 ? others : `${on} of them on`}`;
}

/** One for everybody, and one for tenants with another state. */
function rowsOf(category: DiscoveredCategory, figures: readonly Cell[], now: number): Cell[][] {
  return statesOf(category, now).map((each, at) => [
    category.name,
    state(each.state),
    each.whom,
    ...(at === 0 ? figures : []),
  ]);
}

const PAUSE_MS = 1000;

type Client = Pick<RdcpClient, 'discovery' | 'events'>;

interface CategoryStates {
  readonly categories: readonly DiscoveredCategory[];
  readonly instances?: CountedInstances | undefined;
  /** Names of those that came on so recently that their rate is not measured yet. @default none */
  readonly unmeasured?: ReadonlySet<string> | undefined;
}

/** Follows the state by the service's event stream; by polling where it has none, or no free one. @throws the first error, if nothing came before */
async function* categoryStates(
  client: Client,
  { signal, lost }: { readonly signal: AbortSignal; readonly lost: (error: RdcpError) => void },
): AsyncGenerator<CategoryStates, void> {
  let received = false;
  let streams = true;
  for (;;) {
    try {
      for await (const states of streams ? followed(client, signal) : asked(client, signal)) {
        received = true;
        yield states;
      }
    } catch (error) {
      if (!isRdcpError(error)) throw error;
      if (streams && NO_STREAM.has(error.code)) {
        streams = false;
        continue;
      }
      if (!received || !isPassing(error)) throw error;
      lost(error);
      await sleep(Math.max(PAUSE_MS, askedForMs(error, Date.now()) ?? 0), undefined, { signal });
    }
  }
}

/** Events of rates before that of a category which has just come on is measured, in a fleet too. */
const ROUNDS = 3;

/** The service has no stream, or all are taken. */
const NO_STREAM: ReadonlySet<string> = new Set([
  'RDCP_NOT_FOUND',
  'RDCP_MEDIA_NOT_ACCEPTABLE',
  'RDCP_VERSION_UNSUPPORTED',
  'RDCP_RATE_LIMITED',
]);
async function* asked(client: Client, signal: AbortSignal): AsyncGenerator<CategoryStates, void> {
  for (;;) {
    const { categories, otelrdcp_instances: instances } = await client.discovery({ signal });
    yield { categories, instances };
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function* followed(client: Client, signal: AbortSignal): AsyncGenerator<CategoryStates, void> {
  let known: Categories | undefined;
  let instances: CountedInstances | undefined;
  let rounds = 0;
  /** The round in which its rate will be measured, by name. */
  const measuredIn = new Map<string, number>();
  for await (const received of client.events({ signal })) {
    const { event, data } = received;
    if (event === 'snapshot') instances = data.otelrdcp_instances;
    const before = known;
    if (event === 'rates') {
      instances = data.instances;
      rounds += 1;
      // The first one of a stream has nothing to compare with: the figures of the snapshot stay.
      if (rounds > 1) known = withRates(known, data.categories);
    } else known = categoriesAfter(known, received);
    if (event === 'category' && isCounted(data) && !isCounted(before?.get(data.name) ?? { enabled: false })) {
      measuredIn.set(data.name, rounds + ROUNDS);
    }
    if (known === undefined || known === before) continue;
    const unmeasured = new Set([...measuredIn].filter(([, round]) => round > rounds).map(([name]) => name));
    yield { categories: [...known.values()], instances, unmeasured };
  }
}

function withRates(known: Categories = new Map(), rates: Readonly<Record<string, number>>): Categories {
  const rated = [...known].map(([name, category]) => {
    const metrics = { ...category.metrics, callsPerSecond: rates[name] ?? 0 };
    return [name, { ...category, metrics }] as const;
  });
  return new Map(rated);
}
