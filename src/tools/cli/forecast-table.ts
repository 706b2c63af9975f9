import { describeSilence } from '../../wire/call-counts.ts';
import type { CategoryForecast, ForecastResponse } from '../../wire/streams.ts';
import { parseDuration } from '../../wire/time.ts';
import { processesText } from '../../wire/words/count.ts';
import { type Canvas, type Column, rowsOf, table } from './table.ts';
import type { Terminal } from './terminal.ts';

const COLUMNS: readonly Column<CategoryForecast & { readonly name: string }>[] = [
  ['CATEGORY', ({ name }) => name],
  ['CALLS/S', ({ callsPerSecond: calls }) => rounded(calls.value)],
  ['BYTES/S', ({ bytesPerSecond: bytes }) => rounded(bytes.value)],
  ['BYTES/CALL', ({ bytesPerCall: bytes }) => (bytes === undefined ? '-' : rounded(bytes.value))],
  ['GB/DAY', ({ gigabytesPerDay: size }) => size.value.toFixed(size.value < 1 ? 3 : 1)],
  ['DROPPED/S', ({ droppedByBudget: lost }) => (lost.value > 0 ? [rounded(lost.value), 'yellow'] : '0')],
];

function figuresOf({ categories }: ForecastResponse) {
  return Object.entries(categories).map(([name, figures]) => ({ name, ...figures }));
}

export function forecastTable(canvas: Canvas, answer: ForecastResponse): string {
  return `${table(canvas, ...rowsOf(figuresOf(answer), COLUMNS))}\n\n${measured(answer)}`;
}

export function showForecast(terminal: Terminal, answer: ForecastResponse): void {
  terminal.table(figuresOf(answer), COLUMNS);
  terminal.out('');
  terminal.say(measured(answer));
}

function measured({ duration, instances }: ForecastResponse): string {
  return `measured for ${duration} in ${instances.answered} of ${processesText(instances.asked)}`;
}

/** Says what became of the calls of categories without a line, where a part of the calls was asked for. */
export function noteSilence(
  terminal: Pick<Terminal, 'note'>,
  answer: ForecastResponse,
  part: Parameters<typeof describeSilence>[1],
): void {
  const sentence = describeSilence(answer, part);
  if (sentence !== undefined) terminal.note(`${sentence}.`);
}

export function noteGaps(terminal: Pick<Terminal, 'note'>, { instances }: ForecastResponse): void {
  const missing = instances.asked - instances.answered;
  if (missing > 0) {
    const [who, them] = missing === 1 ? ['1 process', 'it'] : [`${missing} processes`, 'them'];
    terminal.note(`${who} of ${instances.asked} did not answer: the figures leave ${them} out.`);
  }
}

export const USUAL_TIME = '10s';

/** Shows how long a measurement still takes, where a person waits for it. */
export async function whileMeasuring<T>(terminal: Terminal, time: string, ask: () => Promise<T>): Promise<T> {
  const ends = terminal.now() + (parseDuration(time) ?? 0) * 1000;
  const show = () => {
    const seconds = Math.ceil((ends - terminal.now()) / 1000);
    terminal.progress(`Measuring: ${seconds > 0 ? `${seconds} s left` : 'waiting for the answer'}`);
  };
  show();
  const ticking = setInterval(show, 1000);
  try {
    return await ask();
  } finally {
    clearInterval(ticking);
    terminal.progress('');
  }
}

function rounded(value: number): string {
  return value.toFixed(value < 10 && !Number.isInteger(value) ? 1 : 0);
}
