import { MAX_FAILURES, MAX_TAIL_LINES, MAX_TAIL_RATE } from '../../../wire/constants.ts';
import { given } from '../../../wire/json-text.ts';
import { nameSome } from '../../../wire/printable.ts';
import type { FailedWork, FailuresResponse } from '../../../wire/streams.ts';
import { parseDuration, type Timestamp } from '../../../wire/time.ts';
import { counted } from '../../../wire/words/count.ts';
import { reachText } from '../../../wire/words/tail.ts';
import { remaining } from '../../../wire/words/time.ts';
import { type Command, EXIT, type Terminal, text, UsageError, type Values } from '../command.ts';
import { type Access, accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { type Ask, askEach, conclude, noteOf, ofServices } from '../each-service.ts';
import { TimeOrder } from '../line-order.ts';
import { localClock } from '../local-time.ts';
import { namesOf, parseSelection, selected, suggesting } from '../names.ts';
import { duration, formatOf, present, wholeNumber } from '../options.ts';
import { type LinesRequest, readLines } from '../read-lines.ts';
import { INSTANCE_OPTIONS, OUTCOME_OPTIONS, SELECTION_OPTIONS, selectionOf } from '../selection-options.ts';
import { chosenServices, SERVICE_OPTIONS } from '../services.ts';
import type { Column } from '../table.ts';

/** How long lines of a service with several processes are held, in milliseconds, so that slower relays are in order too. */
const HELD_IN_FLEET_MS = 300;
/** How long a tail lasts, by RDCP's default of this implementation. */
const USUAL = '5m';

export const tail: Command = {
  summary: 'read the debug lines of categories from every process, without switching anything',
  operands: '<name...>',
  completes: 'categories',
  options: {
    for: { value: '5m', help: `how long (default: ${USUAL})` },
    rate: { value: 'N', help: 'maximum lines per second (default: 100); more than configured needs admin' },
    lines: { value: 'N', help: 'end after N lines' },
    since: { value: '2m', help: 'first the lines of that time before, of categories that are recorded' },
    past: { help: 'end after those; needs --since' },
    'also-log': { help: "write the lines to the service's own logs as well" },
    ...SELECTION_OPTIONS,
    ...OUTCOME_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...SERVICE_OPTIONS,
  },
  notes: [
    'The lines go to you alone; with --tenant those of that tenant. It ends with its time or with Ctrl-C, in all processes, and goes',
    'on when the connection breaks or the service restarts. With a shared store each line ends with its process, host:pid. Only',
    'lines go to stdout, with -o json as one JSON object each. Of several services they come a second later, in the order of',
    'their times, each with its service; --rate and --lines are of each.',
  ],
  examples: [
    'rdcp tail DATABASE --tenant acme --for 5m',
    'rdcp tail DATABASE -m user.id=42',
    'rdcp tail DATABASE --on-error',
    'rdcp tail ORDERS -m user.id=42 --since 2m',
    "rdcp tail 'PAYMENT*' -s shop,cart,pay",
    "rdcp tail 'DB_*' -o json | jq .message",
  ],
  run: async (terminal, values, operands) => {
    const selection = parseSelection(operands);
    const wanted = linesRequestOf(values);
    const chosen = await chosenServices(terminal, values);
    if ('only' in chosen) {
      const { access, names } = await selected(terminal, chosen.only, selection);
      const order = new TimeOrder(HELD_IN_FLEET_MS);
      return readLines(terminal, wanted, { order }, (start) => start({ access, names }));
    }
    const endsAt = terminal.now() + (parseDuration(wanted.request.duration ?? USUAL) ?? 0) * 1000;
    const several = { order: new TimeOrder(), services: chosen.each };
    return readLines(terminal, wanted, several, async (start, interrupted) => {
      const ask: Ask = async (service, ended) => {
        const own = { ...terminal, sources: service.sources, note: noteOf(terminal, service) };
        const access = accessOf(own, service.values);
        const client = clientOf(own, access);
        const names = await namesOf(own, { discovery: () => client.discovery({ signal: ended }) }, selection);
        if (chosen.each.includes(service)) return start({ access, names, label: service.name }, ended);
        const left = Math.round((endsAt - terminal.now()) / 1000);
        return left < 1 ? EXIT.done : start({ access, names, label: service.name, left }, ended);
      };
      return conclude(terminal, await askEach(terminal, chosen.each, ask, { values, interrupted }));
    });
  },
};

export function linesRequestOf(values: Values): LinesRequest {
  const since = duration(values, 'since');
  const past = values.past === true;
  if (past && since === undefined) throw new UsageError('--past needs --since: how far back');
  const request = {
    ...given({ duration: duration(values, 'for'), rate: wholeNumber(values, 'rate', MAX_TAIL_RATE), since }),
    ...(past && { past }),
    ...(values['also-log'] === true && { log: true }),
    ...selectionOf(values),
  };
  return { request, lines: wholeNumber(values, 'lines', MAX_TAIL_LINES), format: formatOf(values) };
}

export const failures: Command = ofServices({
  summary:
    'list the requests and jobs that failed lately, of what is recorded, newest first; --open shows the lines of one',
  operands: '[name...]',
  completes: 'categories',
  options: {
    since: { value: '10m', help: 'how far back (default: as far as the service keeps finished work)' },
    'slower-than': { value: '2s', help: 'also work that took longer' },
    limit: { value: 'N', help: `maximum number, 1 to ${MAX_FAILURES} (default: 50)` },
    open: { value: 'N', help: 'show the lines of one: its number in the list, or its id (-o wide)' },
    ...(SELECTION_OPTIONS.match && { match: SELECTION_OPTIONS.match }),
    ...INSTANCE_OPTIONS,
    ...CONNECTION_OPTIONS,
  },
  notes: [
    'Nothing has to be switched on before: the service keeps what it records (recorder.categories, rdcp record) of the last',
    'minutes. Numbers count from the newest, so they move when more work fails.',
  ],
  examples: ['rdcp failures', 'rdcp failures ORDERS -m user.id=42 --since 1m', 'rdcp failures --open 1'],
  run: async (terminal, values, operands) => {
    const request = requestOf(values);
    const opened = text(values, 'open');
    const access = accessOf(terminal, values);
    const client = clientOf(terminal, access);
    const names = operands.length === 0 ? undefined : await namesOf(terminal, client, parseSelection(operands));
    const answer = await suggesting(client, () => client.failures({ ...request, ...given({ categories: names }) }));
    const { asked, answered } = answer.instances;
    if (answered < asked)
      terminal.note(`${answered} of ${asked} processes answered: failures of the others are missing.`);
    const code = answered < asked ? EXIT.partial : EXIT.done;
    if (opened !== undefined) {
      const work = answer.failures[Number(opened) - 1] ?? answer.failures.find(({ id }) => id === opened);
      if (work === undefined)
        throw new Error(`there is no ${opened} among ${counted(answer.failures.length, 'failure')}`);
      if (Object.keys(work.lines).length === 0) throw new Error(`it has no recorded line: ${work.outcome}`);
      return Math.max(code, await open(terminal, values, { work, now: answer.timestamp, access }));
    }
    present(terminal, values, answer, (wide) => {
      if (answer.failures.length === 0) terminal.say(silence(answer));
      else show(terminal, answer, wide);
      if (answer.more) terminal.note(`There are older ones: --limit N, at most ${MAX_FAILURES}.`);
    });
    return code;
  },
});

function requestOf(values: Values) {
  const { target, when } = selectionOf(values);
  return given({
    since: duration(values, 'since'),
    limit: wholeNumber(values, 'limit', MAX_FAILURES),
    target,
    when: when && { ...when, failed: true as const },
  });
}

function show(terminal: Terminal, { failures, timestamp }: FailuresResponse, wide: boolean): void {
  const { merges = false } = terminal;
  // Those of several services are put in the order of their times, and have the names that the command knows them by.
  const columns: Column<FailedWork>[] = [
    !merges && ['#', (work) => String(failures.indexOf(work) + 1)],
    [merges ? 'TIME' : 'WHEN', (work) => localClock(work.timestamp, terminal.now())],
    !merges && ['AGO', (work) => remaining(timestamp, Date.parse(work.timestamp))],
    !merges && ['SERVICE', ({ service }) => service],
    wide && ['ID', ({ id }) => id],
    wide && ['PROCESS', ({ instance }) => instance],
    ['WHAT', ({ outcome }) => outcome],
    ['WHO', whoOf],
    ['LINES', (work) => linesOf(work, wide)],
    wide && ['TRACE', ({ traceId }) => traceId ?? '-'],
  ];
  terminal.table(failures, columns, { times: failures.map((work) => work.timestamp) });
}

function whoOf({ tenant, attributes }: FailedWork): string {
  const given = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  return [...(tenant === undefined ? [] : [tenant]), ...given].join(' ') || '-';
}

function linesOf({ lines }: FailedWork, wide: boolean): string {
  const all = Object.entries(lines);
  if (wide) return all.map(([name, count]) => `${name} ${count}`).join(', ');
  return String(all.reduce((sum, [, count]) => sum + count, 0));
}

function silence({ recorder: { reachesBack, categories } }: FailuresResponse): string {
  if (categories.length === 0) return 'Nothing is recorded here, so no failure is known.';
  if (reachesBack === undefined) return `No work has ended since ${nameSome(categories)} is recorded.`;
  return `No work has failed. ${reachText(reachesBack, nameSome(categories))}.`;
}

function open(
  terminal: Terminal,
  values: Values,
  { work, now, access }: { readonly work: FailedWork; readonly now: Timestamp; readonly access: Access },
): Promise<number> {
  const { id, instance, outcome, lines } = work;
  const seconds = (Date.parse(now) - Date.parse(work.timestamp) + work.milliseconds) / 1000;
  const wanted = {
    request: {
      since: Math.ceil(Math.max(0, seconds)) + 1,
      past: true,
      target: { instances: { ids: [instance] } },
      filter: { where: `attributes["rdcp.work.id"] == ${JSON.stringify(id)}` },
    },
    format: formatOf(values),
  };
  if (wanted.format !== 'json') terminal.say(`${outcome}:`, 'bold');
  return readLines(terminal, wanted, { order: new TimeOrder() }, (start) =>
    start({ access, names: Object.keys(lines) }),
  );
}
