import { MAX_TAIL_LINES, MAX_TAIL_RATE } from '../../../wire/constants.ts';
import { given } from '../../../wire/json-text.ts';
import { parseDuration } from '../../../wire/time.ts';
import { type Command, EXIT, UsageError, type Values } from '../command.ts';
import { accessOf, CONNECTION_OPTIONS, clientOf } from '../connection.ts';
import { type Ask, askEach, conclude, noteOf } from '../each-service.ts';
import { TimeOrder } from '../line-order.ts';
import { namesOf, parseSelection, selected } from '../names.ts';
import { duration, formatOf, wholeNumber } from '../options.ts';
import { type LinesRequest, readLines } from '../read-lines.ts';
import { OUTCOME_OPTIONS, SELECTION_OPTIONS, selectionOf } from '../selection-options.ts';
import { chosenServices, SERVICE_OPTIONS } from '../services.ts';

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
